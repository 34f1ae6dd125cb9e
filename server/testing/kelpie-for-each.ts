import { beforeEach } from "vitest";
import { keepJobs } from "#server/features/jobs/keep-jobs.ts";
import { addTestPerson, callAs, type TestPerson } from "./open-test-hub.ts";
import { served, servedForEach, test } from "./served-for-each.ts";

/** For tests of the Kelpie-compatible API: in every test a served hub and the API token of an operator. */
export { test };
let token: string;
let operator: TestPerson;

/** Registers the hooks that run before and after the tests of a file. */
export function kelpieForEach(): void {
  servedForEach();
  beforeEach(async () => {
    operator = await addTestPerson(test.hub, "grace@example.com", "operator");
    token = await makeToken("operator");
  });
}

export async function makeToken(role: "viewer" | "operator"): Promise<string> {
  return (await callAs(test.hub, operator.caller).apiTokens.create({ name: "kelpie", role })).token;
}

export interface Answered {
  status: number;
  body: Record<string, unknown>;
}

/** Makes a call with other headers than the token's. Every answer has to be JSON. */
export async function callWith(headers: Record<string, string>, way: string, body?: unknown): Promise<Answered> {
  const [method = "", path = ""] = way.split(" ");
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const init = body === undefined ? {} : { body: text, headers: { "content-type": "application/json", ...headers } };
  const answer = await fetch(`${served.url}/kelpie${path}`, { method, headers, ...init });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

/** Makes a call such as `GET /jobs` with the token of the operator. */
export const call = (way: string, body?: unknown): Promise<Answered> => callWith({ "x-kelpie-key": token }, way, body);

export const GROUP = "3f6c1f2e-8f7e-4c39-9a4b-0b6f1a5f9a01";
export const JOB = { command: "python", arguments: ["train.py"], container_group_id: GROUP, sync: {} };

/** Submits a job that differs from an ordinary one; returns its id. */
export async function submit(changes: object = {}): Promise<string> {
  const { status, body } = await call("POST /jobs", { ...JOB, ...changes });
  if (status !== 202) throw new Error(`refused: ${JSON.stringify(body)}`);
  return String(body["id"]);
}

export const show = async (id: string) => (await call(`GET /jobs/${id}`)).body;

/** Asks for work; returns the id of the job, or null. */
export async function work(machine: string, group = GROUP): Promise<string | null> {
  const { body } = await call(`GET /work?machine_id=${machine}&container_group_id=${group}`);
  const jobs = body as unknown as { id: string }[];
  return jobs[0]?.id ?? null;
}

/** Reports as a worker does. */
export const tell = (machine: string, id: string, what: "heartbeat" | "completed" | "failed"): Promise<Answered> =>
  call(`POST /jobs/${id}/${what}`, { machine_id: machine, container_group_id: GROUP });

/** Lets time pass and runs the clock of jobs. */
export async function pass(seconds: number): Promise<void> {
  test.advance(seconds * 1_000);
  await keepJobs(test.hub);
}
