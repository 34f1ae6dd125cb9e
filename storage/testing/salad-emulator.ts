import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * An emulated API of SaladCloud under `/api/public`, written from facts about it, with its quirks: actions and one instance
 * answer 202, a group says how many instances are in each state, any call may answer 429 with or without `Retry-After`, and a
 * PATCH needs the content type of merge patches.
 */

export interface EmulatedInstance {
  id: string;
  machine_id: string;
  state: string;
  update_time: string;
  version: number;
  deletion_cost?: number;
  pulling_progress?: number;
}

export interface EmulatedGroup {
  id: string;
  name: string;
  display_name: string;
  replicas: number;
  status: string;
  description: string;
  priority: string;
  gpuClasses: string[];
  instances: EmulatedInstance[];
}

export interface SaladEmulator {
  /** The base address, for `TIDEMARK_SALAD_API_URL`. */
  url: string;
  key: string;
  organization: string;
  project: string;
  groups: EmulatedGroup[];
  /** Every request, as `METHOD path`, without the part of organization and project. */
  requests: string[];
  quotas: Record<string, number>;
  gpuClasses: { id: string; name: string; prices: { priority: string; price: string }[] }[];
  /** Answers that are given to the next requests before anything is done. */
  /** Awaited before each answer. */
  beforeAnswer: () => Promise<void>;
  failures: {
    /** 0: the connection is cut instead of an answer. */
    status: number;
    body?: string;
    headers?: Record<string, string>;
    /** Only for a request like this. */
    to?: RegExp;
  }[];
  addGroup(name: string, about?: Partial<EmulatedGroup>): EmulatedGroup;
  addInstance(group: EmulatedGroup, about?: Partial<EmulatedInstance>): EmulatedInstance;
  close(): Promise<void>;
}

interface Answer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

const MERGE_PATCH = "application/merge-patch+json";

const problem = (status: number, title: string, detail: string): Answer => ({
  status,
  body: { type: "about:blank", title, status, detail, instance: "/somewhere" },
  headers: { "content-type": "application/problem+json" },
});
const NOT_FOUND = problem(404, "Not Found", "There is no such thing.");

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function shownGroup(group: EmulatedGroup) {
  const { id, name, display_name, replicas, status, description, priority, gpuClasses, instances } = group;
  const count = (state: string) => instances.filter((one) => one.state === state).length;
  return {
    id,
    name,
    display_name,
    replicas,
    container: { image: "trainer:1", priority, resources: { cpu: 4, memory: 16_384, gpu_classes: gpuClasses } },
    current_state: {
      status,
      description,
      start_time: "2026-11-01T00:00:00Z",
      instance_status_counts: {
        allocating_count: count("allocating"),
        creating_count: count("creating"),
        running_count: count("running"),
        stopping_count: count("stopping"),
      },
    },
  };
}

/** Makes a group have as many instances as it should; those of the lowest deletion cost go first. */
function settle(group: EmulatedGroup, add: () => void): void {
  const wanted = group.status === "stopped" ? 0 : group.replicas;
  group.instances.sort((a, b) => (b.deletion_cost ?? 0) - (a.deletion_cost ?? 0));
  group.instances.splice(wanted);
  while (group.instances.length < wanted) add();
}

export async function startSaladEmulator(): Promise<SaladEmulator> {
  const now = () => new Date().toISOString();
  const addInstance: SaladEmulator["addInstance"] = (group, about = {}) => {
    const made = {
      id: randomUUID(),
      machine_id: randomUUID(),
      state: "running",
      update_time: now(),
      version: 1,
      ...about,
    };
    group.instances.push(made);
    return made;
  };

  const onInstance = (group: EmulatedGroup, rest: readonly string[], call: Call): Answer => {
    const instance = group.instances.find(({ id }) => id === rest[0]);
    if (instance === undefined) return NOT_FOUND;
    const [, action] = rest;
    if (call.method === "GET" && action === undefined) return { status: 202, body: instance };
    if (call.method === "PATCH" && action === undefined) {
      const cost = call.patch["deletion_cost"];
      if (typeof cost !== "number" || cost < 0 || cost > 100_000) return problem(400, "Bad Request", "deletion_cost");
      instance.deletion_cost = cost;
      return { status: 200, body: instance };
    }
    if (call.method !== "POST" || !["reallocate", "recreate", "restart"].includes(action ?? "")) return NOT_FOUND;
    Object.assign(instance, { state: "allocating", update_time: now(), deletion_cost: 0 });
    if (action === "reallocate") instance.machine_id = randomUUID();
    return { status: 202 };
  };

  const onGroup = (group: EmulatedGroup, rest: readonly string[], call: Call): Answer => {
    const [word, ...more] = rest;
    const fill = () => void addInstance(group, { state: "allocating" });
    if (word === undefined && call.method === "GET") return { status: 200, body: shownGroup(group) };
    if (word === undefined && call.method === "PATCH") {
      const replicas = call.patch["replicas"];
      if (typeof replicas !== "number" || replicas < 0 || replicas > 500) {
        return problem(400, "Bad Request", "replicas is a number from 0 to 500");
      }
      group.replicas = replicas;
      settle(group, fill);
      return { status: 200, body: shownGroup(group) };
    }
    if (call.method === "POST" && (word === "start" || word === "stop")) {
      group.status = word === "start" ? "running" : "stopped";
      settle(group, fill);
      return { status: 202 };
    }
    if (word !== "instances") return NOT_FOUND;
    if (more.length === 0) return { status: 200, body: { instances: group.instances } };
    return onInstance(group, more, call);
  };

  const route = (parts: readonly string[], call: Call): Answer => {
    const [organizations, organization, ...rest] = parts;
    if (organizations !== "organizations" || organization !== emulator.organization) return NOT_FOUND;
    const [word, project, containers, name, ...more] = rest;
    if (word === "quotas") return { status: 200, body: { container_groups_quotas: emulator.quotas } };
    if (word === "gpu-classes") return { status: 200, body: { items: emulator.gpuClasses } };
    if (word !== "projects" || project !== emulator.project || containers !== "containers") return NOT_FOUND;
    if (name === undefined) return { status: 200, body: { items: emulator.groups.map(shownGroup) } };
    const group = emulator.groups.find((one) => one.name === name);
    return group === undefined ? NOT_FOUND : onGroup(group, more, call);
  };

  const answer = async (request: IncomingMessage): Promise<Answer> => {
    const text = await readText(request);
    const path = (request.url ?? "").replace(/^\/api\/public\//, "");
    const method = request.method ?? "";
    const here = `organizations/${emulator.organization}/`;
    emulator.requests.push(`${method} ${path.replace(`${here}projects/${emulator.project}/`, "").replace(here, "")}`);
    const failing = emulator.failures.findIndex(({ to }) => to?.test(path) ?? true);
    const [failure] = failing === -1 ? [] : emulator.failures.splice(failing, 1);
    if (failure !== undefined) return failure;
    if (request.headers["salad-api-key"] !== emulator.key) return problem(401, "Unauthorized", "The key is not valid.");
    if (method === "PATCH" && request.headers["content-type"] !== MERGE_PATCH) {
      return problem(415, "Unsupported Media Type", `Send ${MERGE_PATCH}.`);
    }
    const patch = method === "PATCH" ? (JSON.parse(text) as Record<string, unknown>) : {};
    return route(path.split("/").map(decodeURIComponent), { method, patch });
  };

  const server = createServer((request, response) => {
    const answering = answer(request).then((made) => emulator.beforeAnswer().then(() => made));
    void answering.then(({ status, body, headers = { "content-type": "application/json" } }) => {
      if (status === 0) return void response.destroy();
      response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const emulator: SaladEmulator = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/public`,
    key: `salad-key-${randomUUID()}`,
    organization: "acme",
    project: "training",
    groups: [],
    requests: [],
    beforeAnswer: () => Promise.resolve(),
    failures: [],
    quotas: {
      container_replicas_quota: 100,
      container_replicas_used: 0,
      max_container_group_reallocations_per_minute: 10,
      max_container_group_recreates_per_minute: 10,
      max_container_group_restarts_per_minute: 10,
    },
    gpuClasses: [],
    addGroup: (name, about = {}) => {
      const group: EmulatedGroup = {
        id: randomUUID(),
        name,
        display_name: name,
        replicas: 0,
        status: "running",
        description: "",
        priority: "medium",
        gpuClasses: [],
        instances: [],
        ...about,
      };
      emulator.groups.push(group);
      return group;
    },
    addInstance,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return emulator;
}

interface Call {
  method: string;
  patch: Record<string, unknown>;
}
