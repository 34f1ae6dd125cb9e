import * as z from "zod";
import { faultData } from "#protocol/faults/fault-data.ts";
import { PRODUCT_VERSION } from "#protocol/base/version.ts";
import { API_PATH } from "#server/platform/api-path.ts";
import { hubRouter } from "#server/router.ts";
import type { Meta } from "#server/core/api/trpc.ts";

/**
 * Describes the API for people as OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1.html). All of it comes from the router
 * (procedures, who may call them, schemas of their inputs), so it cannot become outdated.
 */

interface Procedure {
  path: string;
  type: "query" | "mutation" | "subscription";
  meta: Meta;
  inputs: readonly z.ZodType[];
}

interface Definition {
  procedures: Record<string, { _def: { type: Procedure["type"]; meta?: Meta; inputs: readonly unknown[] } }>;
}

function allProcedures(): Procedure[] {
  const router: object = hubRouter;
  const { procedures } = Reflect.get(router, "_def") as Definition;
  return Object.entries(procedures).flatMap(([path, { _def: definition }]) => {
    const { type, meta, inputs } = definition;
    if (meta === undefined) return [];
    return [{ path, type, meta, inputs: inputs.filter((input) => input instanceof z.ZodType) }];
  });
}

/** Returns the procedures for people; those for nodes are no part of the public API. */
export const peoplesProcedures = (): Procedure[] =>
  allProcedures().filter(({ path, meta }) => meta.who !== "node" && !path.startsWith("node."));

/** Everything that a client must know to call a procedure. */
export interface CallableProcedure {
  path: string;
  type: Procedure["type"];
  who: Meta["who"];
  needsSession: boolean;
  /** JSON schema of the input; null where there is none. */
  input: Record<string, unknown> | null;
}

/** Returns all procedures, those for nodes too, with the schemas of their inputs. */
export const allInputs = (): CallableProcedure[] =>
  allProcedures().map((procedure) => {
    const { path, type, meta } = procedure;
    return {
      path,
      type,
      who: meta.who,
      needsSession: meta.needsSession === true,
      input: inputOf(procedure)?.schema ?? null,
    };
  });

type Json = Record<string, unknown>;

function schemaOf(input: z.ZodType): Json {
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: "input", unrepresentable: "any" });
  return schema;
}

const inputOf = ({ inputs }: Procedure): { schema: Json; required: boolean } | null => {
  const [first, ...more] = inputs;
  if (first === undefined) return null;
  const required = inputs.some((input) => !input.safeParse(undefined).success);
  return { schema: more.length === 0 ? schemaOf(first) : { allOf: inputs.map(schemaOf) }, required };
};

const WHO: Record<Exclude<Meta["who"], "node">, string> = {
  open: "Everybody may call it.",
  viewer: "Needs the role viewer, operator or admin.",
  operator: "Needs the role operator or admin.",
  admin: "Needs the role admin.",
};

function securityOf({ who, needsSession }: Meta): Json[] {
  if (who === "open") return [];
  return needsSession === true ? [{ session: [] }] : [{ apiToken: [] }, { session: [] }];
}

const reference = (name: string): Json => ({ $ref: `#/components/${name}` });

function answersOf({ type }: Procedure): Json {
  const media =
    type === "subscription"
      ? { "text/event-stream": {} }
      : { "application/json": { schema: reference("schemas/Answer") } };
  return {
    200: { description: type === "subscription" ? "A stream of server-sent events." : "It is done.", content: media },
    default: reference("responses/Fault"),
  };
}

function operationOf(procedure: Procedure): Json {
  const { path, type, meta } = procedure;
  const input = inputOf(procedure);
  const said = meta.who === "node" ? "" : WHO[meta.who];
  const asked: Json =
    input === null
      ? {}
      : type === "mutation"
        ? { requestBody: { required: input.required, content: { "application/json": { schema: input.schema } } } }
        : {
            parameters: [
              {
                name: "input",
                in: "query",
                required: input.required,
                content: { "application/json": { schema: input.schema } },
              },
            ],
          };
  return {
    operationId: path,
    tags: [path.split(".")[0]],
    description: meta.needsSession === true ? `${said} API tokens are refused.` : said,
    security: securityOf(meta),
    ...asked,
    responses: answersOf(procedure),
  };
}

/** Returns the OpenAPI document. */
export function describeApi(): Json {
  const paths = peoplesProcedures().map((procedure) => [
    `${API_PATH}${procedure.path}`,
    { [procedure.type === "mutation" ? "post" : "get"]: operationOf(procedure) },
  ]);
  return {
    openapi: "3.1.1",
    info: {
      title: "Tidemark hub",
      version: PRODUCT_VERSION,
      description:
        "What people and their programs ask of a hub. Times are epoch milliseconds, sizes bytes, rates bytes per second. A query is a GET with its input as JSON in `?input=`, a change a POST of JSON.",
    },
    servers: [{ url: "/" }],
    paths: Object.fromEntries(paths) as Json,
    components: {
      securitySchemes: {
        apiToken: { type: "http", scheme: "bearer", description: "An API token: `tmk_...`." },
        session: { type: "apiKey", in: "cookie", name: "tidemark", description: "`__Host-tidemark` behind https." },
      },
      schemas: {
        Answer: {
          type: "object",
          required: ["result"],
          properties: { result: { type: "object", properties: { data: {} } } },
        },
        Fault: schemaOf(faultData),
        Error: {
          type: "object",
          required: ["error"],
          properties: {
            error: {
              type: "object",
              required: ["message", "data"],
              properties: {
                message: { type: "string", description: "What happened, why, and what to do, in one sentence." },
                code: { type: "integer" },
                data: {
                  type: "object",
                  required: ["fault", "httpStatus"],
                  properties: {
                    code: { type: "string" },
                    httpStatus: { type: "integer" },
                    path: { type: ["string", "null"] },
                    fault: reference("schemas/Fault"),
                  },
                },
              },
            },
          },
        },
      },
      responses: {
        Fault: {
          description: "It was not done; the fault says why.",
          content: { "application/json": { schema: reference("schemas/Error") } },
        },
      },
    },
  };
}
