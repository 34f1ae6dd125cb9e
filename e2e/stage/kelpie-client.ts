import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * A client of the Kelpie interface, written from its documentation: the calls of a submit script, and a worker that takes a
 * job, sends heartbeats, runs its command and reports the end. Like Kelpie's worker it reads every answer as JSON, and ends
 * its program when a heartbeat is answered with `canceled`.
 */
export interface KelpieClient {
  call: (way: string, body?: unknown) => Promise<{ status: number; body: Record<string, unknown> }>;
  submit: (job: object) => Promise<string>;
  statusOf: (id: string) => Promise<unknown>;
  /** Takes and runs one job; null when there is none. Returns how it ended. */
  workOnce: (machine: string) => Promise<{ id: string; end: KelpieEnd } | null>;
}

export type KelpieEnd = "completed" | "failed" | "canceled";

interface Job {
  id: string;
  command: string;
  arguments: string[];
  environment: Record<string, string>;
  heartbeat_interval: number;
}

const TRIES = 30;
const AGAIN_AFTER_MS = 1_000;

export function createKelpieClient({ url, token, group }: { url: string; token: string; group: string }): KelpieClient {
  const headers = { "x-kelpie-key": token, "content-type": "application/json" };

  const call: KelpieClient["call"] = async (way, body) => {
    const [method = "", path = ""] = way.split(" ");
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${url}/kelpie${path}`, { method, headers, ...init });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };

  /** Repeats a call of a worker, as Kelpie's worker does, while the hub is away. */
  const persist: KelpieClient["call"] = async (way, body) => {
    for (let tries = 1; ; tries++) {
      const answer = await call(way, body).catch(() => null);
      if (answer !== null && answer.status < 300) return answer;
      if (tries === TRIES) throw new Error(`${way} failed: ${JSON.stringify(answer)}`);
      await sleep(AGAIN_AFTER_MS);
    }
  };

  async function run(machine: string, job: Job): Promise<KelpieEnd> {
    const about = { machine_id: machine, container_group_id: group };
    const environment = { ...process.env, ...job.environment, KELPIE_JOB_ID: job.id };
    const program = spawn(job.command, job.arguments, { env: environment, stdio: "ignore" });
    const exited = once(program, "exit");
    const over = new AbortController();
    const beats = (async (): Promise<boolean> => {
      for (;;) {
        const { body } = await persist(`POST /jobs/${job.id}/heartbeat`, about);
        if (body["status"] === "canceled") {
          program.kill("SIGINT");
          return true;
        }
        const isOver = await sleep(job.heartbeat_interval * 1_000, false, { signal: over.signal }).catch(() => true);
        if (isOver) return false;
      }
    })();
    const [code] = (await exited) as [number | null];
    over.abort();
    if (await beats) return "canceled";
    const end = code === 0 ? "completed" : "failed";
    await persist(`POST /jobs/${job.id}/${end}`, about);
    return end;
  }

  return {
    call,
    submit: async (job) => {
      const { status, body } = await call("POST /jobs", { container_group_id: group, sync: {}, ...job });
      if (status !== 202) throw new Error(`the job was refused: ${JSON.stringify(body)}`);
      return String(body["id"]);
    },
    statusOf: async (id) => (await call(`GET /jobs/${id}`)).body["status"],
    workOnce: async (machine) => {
      const query = new URLSearchParams({ machine_id: machine, container_group_id: group }).toString();
      const [job] = (await persist(`GET /work?${query}`)).body as unknown as Job[];
      return job === undefined ? null : { id: job.id, end: await run(machine, job) };
    },
  };
}
