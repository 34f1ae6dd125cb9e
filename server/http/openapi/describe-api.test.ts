import { expect, it } from "vitest";
import { hubRouter } from "#server/router.ts";
import { describeApi, peoplesProcedures } from "./describe-api.ts";

type Json = Record<string, unknown>;
const at = (value: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>(
    (inner, name) => (typeof inner === "object" && inner !== null ? Reflect.get(inner, name) : undefined),
    value,
  );

const document = JSON.parse(JSON.stringify(describeApi())) as Json;
const operation = (method: string, name: string): unknown => at(document, "paths", `/api/trpc/${name}`, method);

it("has every procedure of the router but those of nodes", () => {
  const router: object = hubRouter;
  const { procedures } = Reflect.get(router, "_def") as { procedures: Json };
  const wanted = Object.keys(procedures).filter((name) => !name.startsWith("node."));
  expect(wanted.length).toBeGreaterThan(40);
  expect(Object.keys(at(document, "paths") as Json).toSorted()).toEqual(
    wanted.map((name) => `/api/trpc/${name}`).toSorted(),
  );
});

it("asks by GET with an input in the address, and changes by POST of JSON", () => {
  expect(at(operation("get", "events.list"), "parameters", "0")).toMatchObject({
    name: "input",
    in: "query",
    required: true,
    content: { "application/json": { schema: { type: "object", required: ["nodeId", "run", "cursor", "limit"] } } },
  });
  expect(
    at(operation("get", "audit.list"), "parameters", "0", "content", "application/json", "schema", "required"),
  ).toBe(undefined);
  expect(at(operation("post", "auth.signIn"), "requestBody", "content", "application/json", "schema")).toMatchObject({
    properties: { email: { type: "string" }, password: { type: "string", maxLength: 256 } },
    required: ["email", "password"],
  });
  expect(at(operation("get", "nodes.list"), "parameters")).toBeUndefined();
  expect(at(operation("get", "live.watch"), "responses", "200", "content")).toHaveProperty("text/event-stream");
});

it("says who may call what", () => {
  expect(at(operation("post", "auth.signIn"), "security")).toEqual([]);
  expect(at(operation("post", "auth.signOut"), "security")).toEqual([{ session: [] }]);
  expect(at(operation("get", "nodes.list"), "security")).toEqual([{ apiToken: [] }, { session: [] }]);
  for (const { path, type, meta } of peoplesProcedures()) {
    const said = at(operation(type === "mutation" ? "post" : "get", path), "description");
    expect(said).toContain(meta.who === "open" ? "Everybody" : meta.who);
  }
});

it("gives errors as faults, and refers to nothing that is not there", () => {
  const referred = new Set<string>();
  JSON.stringify(document, (key, value: unknown) => {
    if (key === "$ref" && typeof value === "string") referred.add(value);
    return value;
  });
  expect(referred.size).toBeGreaterThan(2);
  for (const one of referred) expect(at(document, ...one.replace("#/", "").split("/")), one).toBeTypeOf("object");
  expect(at(document, "components", "schemas", "Fault", "properties", "code")).toBeDefined();
});
