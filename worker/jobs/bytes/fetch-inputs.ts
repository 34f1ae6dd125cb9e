import { randomUUID } from "node:crypto";
import { lstat, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { findCollision, whyPathRefused } from "#protocol/base/names.ts";
import type { InputObject, JobPlaceAnswer, JobPlacePart } from "#protocol/jobs/job-bytes.ts";
import { pathBelow, type JobInput } from "#protocol/jobs/job-places.ts";
import type { TakenJob } from "#protocol/jobs/node-jobs.ts";
import type { NodeStore } from "#protocol/wire/hello.ts";
import type { Agent } from "../../agent/agent-assemble.ts";
import { unlinkOwned } from "../../base/disk/change-disk.ts";
import { codeOf, diskFault } from "../../base/disk-fault.ts";
import { throwIfAborted } from "../../base/clock.ts";
import { downloadFiles } from "../../object-copy/download.ts";
import type { AskObject } from "../../object-copy/facts.ts";
import { assertReadable, readObjectHead } from "../../object-copy/requests/head.ts";
import type { ProgramUser } from "../../program/program-user.ts";
import { callStore, type Engine } from "../../transfer/engine.ts";
import { makePlace, type JobPlace } from "../job-place.ts";
import type { InputCache } from "./input-cache.ts";
import { openJobEngine } from "./job-engine.ts";

/** Most objects of one input. */
const MOST_OBJECTS = 200_000;
const MEMORY_BYTES = 64 * 1024 * 1024;

/** An object, where it lies on this machine, and the path at which the program finds it. */
interface Placed extends InputObject {
  cached: string;
  link: string;
}

export interface Fetching {
  agent: Pick<Agent, "hub" | "options" | "session" | "throttle" | "state">;
  job: TakenJob;
  place: JobPlace;
  user: ProgramUser | null;
  cache: InputCache;
  signal: AbortSignal;
  /** Called before objects are fetched, with how many of all objects these are. */
  onFetch(about: { objects: number; bytes: number; of: number }): void;
}

/**
 * Fetches the inputs of a job that are not on this machine yet, verifies them, and links them into the folders of the job.
 * @throws Fault BAD_INPUT, HOSTILE_NAME when the job cannot have these inputs; NO_SPACE, CANCELLED, those of hub and store
 */
export async function fetchInputs(about: Fetching): Promise<void> {
  const { job, place, cache } = about;
  const { inputs } = place.spec;
  if (inputs.length === 0) return;
  const found: { store: NodeStore; part: JobPlacePart; objects: Placed[] }[] = [];
  for (const [index, input] of inputs.entries()) {
    const part = { kind: "input" as const, index };
    const { store, objects } = await listInput(about, part);
    found.push({ store, part, objects: placeObjects(about, { input, store, objects }) });
  }
  const all = found.flatMap(({ objects }) => objects);
  const collision = findCollision(all.map(({ link }) => link));
  if (collision !== null)
    throw refuse(
      job,
      `two objects of its inputs have the same place: ${collision.map((one) => one.slice(place.cwd.length + 1)).join(" and ")}`,
    );
  await cache.use(
    job.id,
    all.map(({ cached }) => cached),
  );
  const missing = new Map<string, Placed>();
  for (const one of all) if (!(await cache.has(one.cached, one.sizeBytes))) missing.set(one.cached, one);
  const bytes = [...missing.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  about.onFetch({ objects: missing.size, bytes, of: all.length });
  await cache.makeRoom(bytes);
  for (const { store, part, objects } of found) {
    const wanted = objects.filter((one) => missing.get(one.cached) === one);
    if (wanted.length > 0) await fetchObjects(about, { store, part, wanted });
  }
  await linkAll(about, all);
}

const refuse = ({ name }: TakenJob, detail: string): Fault =>
  new Fault("BAD_INPUT", { op: "fetch inputs", subject: name, detail });

async function listInput(
  { agent: { hub }, job, signal }: Fetching,
  part: JobPlacePart,
): Promise<{ store: NodeStore; objects: InputObject[] }> {
  const { id: jobId, attempt, epoch } = job;
  const objects: InputObject[] = [];
  for (let from: string | null = null; ;) {
    throwIfAborted(signal);
    const asked = { jobId, attempt, epoch, part, from };
    const page: JobPlaceAnswer = await hub.ask("readJobPlace", (client, limit) =>
      client.node.readJobPlace.mutate(asked, { signal: AbortSignal.any([limit, signal]) }),
    );
    objects.push(...page.objects);
    if (objects.length > MOST_OBJECTS) throw refuse(job, `an input has more than ${MOST_OBJECTS} objects`);
    if (page.next === null) return { store: page.store, objects };
    from = page.next;
  }
}

/** Returns where the objects of an input lie. The names come from a bucket, so each is checked. @throws Fault BAD_INPUT, HOSTILE_NAME */
function placeObjects(
  { job, place, cache }: Fetching,
  { input, store, objects }: { input: JobInput; store: NodeStore; objects: readonly InputObject[] },
): Placed[] {
  const { prefix, folder } = input;
  // Consoles create an empty object for a folder.
  const files = objects.filter(({ key, sizeBytes }) => !(key.endsWith("/") && sizeBytes === 0));
  if (files.length === 0) {
    const where = `${store.bucket}/${prefix}`;
    throw refuse(job, `nothing lies below ${where}, which is an input of it`);
  }
  return files.map((object) => {
    const path = pathBelow(prefix, object.key);
    const why = path === null ? "it is not in the input" : whyPathRefused(path);
    if (path === null || why !== null)
      throw new Fault("HOSTILE_NAME", { op: "fetch inputs", subject: object.key, detail: why ?? "it is not there" });
    return { ...object, cached: cache.pathOf(store.profileId, object), link: join(place.cwd, folder, path) };
  });
}

async function fetchObjects(
  { agent, job, cache, signal }: Fetching,
  { store, part, wanted }: { store: NodeStore; part: JobPlacePart; wanted: readonly Placed[] },
): Promise<void> {
  const { connections } = agent.options;
  const open = openJobEngine(agent, job, { part, store, direction: "down", connections, memoryBytes: MEMORY_BYTES });
  // Workers with a common folder may fetch the same object at the same time.
  const copyId = randomUUID();
  try {
    await downloadFiles(open.engine, {
      files: wanted,
      pathOf: ({ cached }) => cached,
      journalPath: join(agent.state, `input-${copyId}.jsonl`),
      copyId,
      partBytes: null,
      mostMd5Bytes: Number.MAX_SAFE_INTEGER,
      ask: askObject(open.engine, signal),
      signal,
      onStart: () => undefined,
      onLanded: (_, path) => cache.mark(path),
    });
  } finally {
    await open.close();
  }
}

/** Asks for facts about an object by HEAD. No hub signs the other requests for an input, so their facts are unknown. */
const askObject = (engine: Engine, signal: AbortSignal): AskObject => ({
  head: async (key) => {
    const call = { operation: { op: "head" as const, key }, signal };
    const head = await callStore(engine, call, (answer) => readObjectHead(answer, key));
    assertReadable(head, { op: "fetch inputs", key });
    const { sizeBytes, etag, modifiedAtMs, isOpaque } = head;
    return { sizeBytes, etag, modifiedAtMs, isOpaque, sum: null };
  },
  partBytes: async () => null,
  partSums: async () => null,
});

/** Links the objects into the folders of the job; links of an earlier attempt are replaced, and nothing else is. */
async function linkAll({ job, place, user }: Fetching, all: readonly Placed[]): Promise<void> {
  const folders = [...new Set(all.map(({ link }) => dirname(link)))].toSorted();
  for (const folder of folders) await makePlace({ ...place, cwd: folder, watches: [] }, user);
  for (const { link, cached } of all) {
    try {
      await symlink(cached, link).catch(async (error: unknown) => {
        if (codeOf(error) !== "EEXIST") throw error;
        if (!(await lstat(link)).isSymbolicLink())
          throw refuse(job, `${link.slice(place.cwd.length + 1)} is an input, and something else has its place`);
        await unlinkOwned("input-link", link);
        await symlink(cached, link);
      });
    } catch (error) {
      throw diskFault(error, { op: "work", subject: link, otherwise: "FOLDER_UNWRITABLE" });
    }
  }
}
