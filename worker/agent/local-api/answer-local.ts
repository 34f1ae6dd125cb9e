import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import {
  beginInput,
  flushInput,
  recordInput,
  restoreInput,
  saveInput,
  steerInput,
  stepInput,
} from "#protocol/local-api/local.ts";
import { parseJson } from "#storage/inspect/parse-json.ts";
import type { Agent } from "../agent-assemble.ts";
import { beginAgain } from "../begin-again.ts";
import { flush } from "./flush.ts";
import { openRecord } from "./open-record.ts";
import { readState, readStatus } from "./read-state.ts";
import { restoreHere } from "./restore-here.ts";
import { saveNow } from "./save-now.ts";
import { steerMany } from "./steer-many.ts";
import type { LocalAnswer, LocalRequest } from "#worker/local-api/serve-local.ts";
import { whichRun } from "./which-run.ts";
import { metricsOf } from "#worker/local-api/write-metrics.ts";

type Answerer = (agent: Agent, request: LocalRequest) => LocalAnswer | Promise<LocalAnswer>;

const json = (body: unknown, status = 200): LocalAnswer => ({
  status,
  type: "application/json",
  text: JSON.stringify(body),
});

const TAKEN: LocalAnswer = { status: 204, type: "application/json", text: "" };

/** Requests that this worker answers, by method and path. */
const ROUTES: Readonly<Record<string, Answerer>> = {
  "GET /v1/state": (agent) => json(readState(agent)),
  "GET /v1/status": async (agent) => json(await readStatus(agent)),
  "GET /metrics": async (agent) => ({
    status: 200,
    type: "text/plain; version=0.0.4; charset=utf-8",
    text: metricsOf(await readStatus(agent)),
  }),
  "POST /v1/save": async (agent, { body, signal }) => {
    const answer = await saveNow(agent, read(saveInput, body), signal);
    return json(answer, answer.state === "waiting" || answer.state === "running" ? 202 : 200);
  },
  "POST /v1/flush": async (agent, { body, signal }) => json(await flush(agent, read(flushInput, body), signal)),
  "POST /v1/steer": async (agent, { body }) => json(await steerMany(agent, read(steerInput, body))),
  "POST /v1/restore": async (agent, { body }) => json(await restoreHere(agent, read(restoreInput, body))),
  "POST /v1/record": (agent, { body }) => json(openRecord(agent, read(recordInput, body))),
  "POST /v1/begin": async (agent, { body }) => {
    const input = read(beginInput, body);
    await beginAgain(agent, { run: whichRun(agent.options.watches, input), step: input.step });
    return TAKEN;
  },
  "POST /v1/step": (agent, { body }) => {
    const input = read(stepInput, body);
    const run = whichRun(agent.options.watches, input);
    const epoch = agent.runs.get(run)?.claim?.epoch ?? null;
    agent.training.hear(run, { step: input.step, at: Date.now(), epoch });
    return TAKEN;
  },
};

/** Answers one request. @throws Fault BAD_INPUT naming the field, NOT_FOUND for an unknown path, and those of the request */
export async function answerLocal(agent: Agent, request: LocalRequest): Promise<LocalAnswer> {
  const asked = `${request.method} ${request.path}`;
  const answer = Object.hasOwn(ROUTES, asked) ? ROUTES[asked] : undefined;
  if (answer === undefined) {
    const detail = `the worker answers ${Object.keys(ROUTES).join(", ")}`;
    throw new Fault("NOT_FOUND", { op: "local", subject: asked, detail });
  }
  return answer(agent, request);
}

function read<T>(schema: z.ZodType<T>, body: string): T {
  let value: unknown;
  try {
    value = body === "" ? {} : parseJson(Buffer.from(body));
  } catch {
    throw new Fault("BAD_INPUT", { op: "local", subject: "body", detail: "it is not JSON" });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const subject = issue === undefined || issue.path.length === 0 ? "body" : issue.path.join(".");
  throw new Fault("BAD_INPUT", { op: "local", subject, detail: issue?.message ?? "not valid" });
}
