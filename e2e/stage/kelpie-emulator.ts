import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * An emulated Kelpie API under `/kelpie`, written from facts about it, with its faults: lists are paged by position, a cancel and
 * a completion overwrite any state, and times of earlier states stay.
 */
export interface KelpieEmulator {
  url: string;
  key: string;
  jobs: readonly EmulatedJob[];
  /** Scaling rules, by the id of the container group. */
  rules: Map<string, Record<string, unknown>>;
  close(): Promise<void>;
}

interface EmulatedJob extends Record<string, unknown> {
  id: string;
  status: string;
  container_group_id: string;
}

interface Call {
  body: Record<string, unknown>;
  query: URLSearchParams;
  job: EmulatedJob | undefined;
}

type Answer = [status: number, body: unknown];

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
}

const NOT_FOUND: Answer = [404, { error: "Not Found", message: "Job not found" }];

export async function startKelpieEmulator(): Promise<KelpieEmulator> {
  const jobs: EmulatedJob[] = [];
  const rules: KelpieEmulator["rules"] = new Map();
  const key = randomUUID();
  const now = () => new Date().toISOString();
  const set = (job: EmulatedJob, status: string) => Object.assign(job, { status, [status]: now() });

  const routes: Readonly<Record<string, (call: Call) => Answer>> = {
    "POST /jobs": ({ body }) => {
      const job = {
        arguments: [],
        environment: {},
        max_failures: 3,
        heartbeat_interval: 30,
        compression: false,
        ...body,
        container_group_id: String(body["container_group_id"]),
        id: randomUUID(),
        user_id: randomUUID(),
        status: "pending",
        created: now(),
        num_failures: 0,
        num_heartbeats: 0,
        machine_id: null,
        webhook: null,
      };
      jobs.push(job);
      return [202, job];
    },
    "GET /jobs": ({ query }) => {
      const found = jobs.filter(({ status }) => status === query.get("status"));
      const [size, at] = [Number(query.get("page_size")), Number(query.get("page"))];
      const page = found.slice(size * (at - 1), size * at);
      return [200, { _count: page.length, jobs: page }];
    },
    "GET /jobs/ID": ({ job }) => (job === undefined ? NOT_FOUND : [200, job]),
    "DELETE /jobs/ID": ({ job }) => {
      if (job !== undefined) set(job, "canceled");
      return [202, { message: "Job canceled" }];
    },
    "GET /work": ({ query }) => {
      const group = query.get("container_group_id");
      const job = jobs.find((one) => one.status === "pending" && one.container_group_id === group);
      if (job === undefined) return [200, []];
      Object.assign(job, { status: "running", started: now(), heartbeat: now(), machine_id: query.get("machine_id") });
      return [200, [job]];
    },
    "POST /jobs/ID/heartbeat": ({ job }) => (job === undefined ? NOT_FOUND : [200, { status: job.status }]),
    "POST /jobs/ID/completed": ({ job }) => {
      if (job !== undefined) set(job, "completed");
      return [200, { message: "Completed reported" }];
    },
    "GET /scaling-rules": () => [200, { _count: rules.size, rules: [...rules.values()] }],
  };

  const answer = async (request: IncomingMessage): Promise<Answer> => {
    if (request.headers["x-kelpie-key"] !== key) return [403, { error: "Forbidden", message: "Invalid API Key" }];
    const url = new URL(request.url ?? "", "http://kelpie");
    const path = url.pathname.replace(/^\/kelpie/, "");
    const rule = /^\/scaling-rules\/([^/]+)$/.exec(path)?.[1];
    if (request.method === "DELETE" && rule !== undefined) return rules.delete(rule) ? [204, null] : [404, {}];
    const id = /^\/jobs\/([^/]+)/.exec(path)?.[1];
    const route = routes[`${request.method ?? ""} ${id === undefined ? path : path.replace(id, "ID")}`];
    if (route === undefined) return [404, { error: "Route Not Found" }];
    return route({ body: await readBody(request), query: url.searchParams, job: jobs.find((one) => one.id === id) });
  };

  const server = createServer((request, response) => {
    void answer(request).then(([status, body]) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key,
    jobs,
    rules,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
