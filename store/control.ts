/**
 * The control interface under `/_control`: arms faults, reports traffic, moves the clock, adds and revokes keys. It is
 * enabled only by a control token, answers JSON, and is never subject to faults.
 */
import type { Credential, CredentialBook } from "./credentials.ts";
import { sameText } from "./credentials.ts";
import type { FaultBook } from "./fault-match.ts";
import { readFaultRule, RuleProblem } from "./fault-rules.ts";
import type { StallRoom } from "./fault-streams.ts";
import type { Traffic } from "./traffic.ts";

/** Parts of the store that the control interface uses. */
export type ControlParts = {
  readonly token: string;
  readonly faults: FaultBook;
  readonly stalls: StallRoom;
  readonly traffic: Traffic;
  readonly credentials: CredentialBook;
  readonly clock: { offsetMs: number };
  /** Resets every open connection except control connections; returns their number. */
  readonly resetConnections: () => number;
};

/** A control request with its body read. `path` has no query and no `/_control`. */
export type ControlRequest = {
  readonly method: string;
  readonly path: string;
  readonly query: ReadonlyMap<string, string>;
  readonly authorization: string | undefined;
  readonly body: string;
};

/** Status and JSON body of a control answer. */
export type ControlAnswer = { readonly status: number; readonly json: unknown };

type Fields = Readonly<Record<string, unknown>>;

const PATHS =
  "GET|POST|DELETE /rules, DELETE /rules/ID, POST /release, POST /release/ID, GET|DELETE /counters, GET /log, PUT /clock, PUT /credentials, DELETE /credentials/KEY, POST /reset-connections";

let nextRule = 0;

function parseBody(body: string): unknown {
  try {
    return body === "" ? {} : JSON.parse(body);
  } catch {
    throw new RuleProblem("The body must be JSON.");
  }
}

function fieldsOf(body: string): Fields {
  const value = parseBody(body);
  if (typeof value !== "object" || value === null) throw new RuleProblem("The body must be a JSON object.");
  return value as Fields;
}

function addRules(parts: ControlParts, body: string): ControlAnswer {
  const value = parseBody(body);
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const rules = list.map((entry) => readFaultRule(entry, `rule-${(nextRule += 1)}`));
  for (const rule of rules) parts.faults.add(rule);
  return { status: 201, json: { ids: rules.map((rule) => rule.id) } };
}

function readCredential(body: string): Credential {
  const { accessKey, secretKey, sessionToken, expiresAtMs } = fieldsOf(body);
  if (typeof accessKey !== "string" || typeof secretKey !== "string" || accessKey === "" || secretKey === "") {
    throw new RuleProblem('"accessKey" and "secretKey" must be texts.');
  }
  return {
    accessKey,
    secretKey,
    ...(typeof sessionToken === "string" ? { sessionToken } : {}),
    ...(typeof expiresAtMs === "number" ? { expiresAtMs } : {}),
  };
}

function setClock(parts: ControlParts, body: string): ControlAnswer {
  const { offsetMs } = fieldsOf(body);
  if (typeof offsetMs !== "number" || !Number.isFinite(offsetMs)) throw new RuleProblem('"offsetMs" must be a number.');
  parts.clock.offsetMs = offsetMs;
  return { status: 200, json: { offsetMs } };
}

function showTraffic(parts: ControlParts, query: ReadonlyMap<string, string>): ControlAnswer {
  const operation = query.get("op");
  const targets = parts.traffic.targets().filter((target) => operation === undefined || target.operation === operation);
  return { status: 200, json: { ...parts.traffic.totals(), targets } };
}

function perform(parts: ControlParts, request: ControlRequest): ControlAnswer | undefined {
  const [, resource = "", ...rest] = request.path.split("/");
  const id = rest.length === 0 ? undefined : decodeURIComponent(rest.join("/"));
  switch (`${request.method} ${resource}`) {
    case "GET rules":
      return { status: 200, json: { rules: parts.faults.list() } };
    case "POST rules":
      return addRules(parts, request.body);
    case "DELETE rules":
      if (id === undefined) parts.faults.clear();
      else if (parts.faults.remove(id) === "unknown")
        return { status: 404, json: { error: `There is no rule "${id}".` } };
      return { status: 200, json: { released: parts.stalls.release(id) } };
    case "POST release":
      return { status: 200, json: { released: parts.stalls.release(id) } };
    case "GET counters":
      return showTraffic(parts, request.query);
    case "DELETE counters":
      parts.traffic.reset();
      return { status: 200, json: {} };
    case "GET log":
      return { status: 200, json: { requests: parts.traffic.log() } };
    case "PUT clock":
      return setClock(parts, request.body);
    case "PUT credentials": {
      const credential = readCredential(request.body);
      parts.credentials.set(credential.accessKey, credential);
      return { status: 200, json: { accessKey: credential.accessKey } };
    }
    case "DELETE credentials":
      return { status: parts.credentials.delete(id ?? "") ? 200 : 404, json: {} };
    case "POST reset-connections":
      return { status: 200, json: { reset: parts.resetConnections() } };
    default:
      return undefined;
  }
}

/** Answers one control request. */
export function answerControl(parts: ControlParts, request: ControlRequest): ControlAnswer {
  if (!sameText(request.authorization ?? "", `Bearer ${parts.token}`)) {
    return { status: 401, json: { error: "The control token is missing or wrong." } };
  }
  try {
    const answer = perform(parts, request);
    return answer ?? { status: 404, json: { error: `There is no such control path. Known: ${PATHS}.` } };
  } catch (error) {
    if (error instanceof RuleProblem) return { status: 400, json: { error: error.message } };
    throw error;
  }
}
