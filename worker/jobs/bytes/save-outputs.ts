import { lstat, opendir } from "node:fs/promises";
import { join, relative } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { whyPathRefused } from "#protocol/base/names.ts";
import type { JobPlacePart } from "#protocol/jobs/job-bytes.ts";
import { outputKey, type JobOutput } from "#protocol/jobs/job-places.ts";
import type { TakenJob } from "#protocol/jobs/node-jobs.ts";
import type { Agent } from "../../agent/agent-assemble.ts";
import { codeOf, diskFault } from "../../base/disk-fault.ts";
import { identityOf, type FileIdentity } from "../../base/file-identity.ts";
import { uploadFiles } from "../../object-copy/upload.ts";
import type { JobPlace } from "../job-place.ts";
import { openJobEngine } from "./job-engine.ts";

const MOST_FILES = 100_000;
const MEMORY_BYTES = 64 * 1024 * 1024;

interface OutputFile {
  path: string;
  /** Below the folder of the output, or as the job names it. */
  name: string;
  sizeBytes: number;
  identity: FileIdentity;
}

/** A file that is in the bucket, and its state when it was sent. */
export type SavedFiles = ReadonlyMap<string, FileIdentity>;

/**
 * Uploads the outputs of a job after its program has ended. Resolves when the store has confirmed all of them; returns the files.
 * @throws Fault BAD_INPUT, LINK_REFUSED, HOSTILE_NAME when they are not as the job says; SOURCE_CHANGED when a file changes
 * meanwhile; CANCELLED, those of hub and store
 */
export async function saveOutputs(about: {
  agent: Pick<Agent, "hub" | "options" | "session" | "throttle" | "state">;
  job: TakenJob;
  place: JobPlace;
  signal: AbortSignal;
  onSave(about: { files: number; bytes: number }): void;
}): Promise<SavedFiles> {
  const { agent, job, place, signal, onSave } = about;
  const saved = new Map<string, FileIdentity>();
  const all: { part: JobPlacePart; output: JobOutput; files: OutputFile[] }[] = [];
  // All of them are looked at first, so that nothing is sent of a job whose outputs are refused.
  for (const [index, output] of place.spec.outputs.entries())
    all.push({ part: { kind: "output", index }, output, files: await findFiles(place, output) });
  const files = all.flatMap((one) => one.files);
  if (files.length === 0) return saved;
  onSave({ files: files.length, bytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) });
  const { id: jobId, attempt, epoch } = job;
  for (const { part, output, files: its } of all) {
    const asked = { jobId, attempt, epoch, part };
    const { store } = await agent.hub.ask("readJobPlace", (client, limit) =>
      client.node.readJobPlace.mutate(asked, { signal: AbortSignal.any([limit, signal]) }),
    );
    const { connections } = agent.options;
    const open = openJobEngine(agent, job, { part, store, direction: "up", connections, memoryBytes: MEMORY_BYTES });
    try {
      await uploadFiles(open.engine, {
        files: its,
        keyOf: ({ name }) => outputKey(output.prefix, name),
        // With the attempt: another one may have other files under the same keys.
        journalPath: join(agent.state, `output-${jobId}-${attempt}-${part.index}.jsonl`),
        partBytes: null,
        // A node may not list uploads, so what a lost answer began stays until the bucket's page ends it.
        sweep: async () => undefined,
        signal,
        onStart: () => undefined,
      });
    } finally {
      await open.close();
    }
    for (const { path, identity } of its) saved.set(path, identity);
  }
  return saved;
}

async function findFiles(place: JobPlace, { folder, files = [] }: JobOutput): Promise<OutputFile[]> {
  if (folder === undefined) {
    const found: OutputFile[] = [];
    for (const file of files) {
      const path = await pathInside(place, file);
      found.push(await fileAt(place, { path, name: file }));
    }
    return found;
  }
  const top = await pathInside(place, folder);
  const found: OutputFile[] = [];
  const enter = async (at: string): Promise<void> => {
    for await (const entry of await opendir(at)) {
      const path = join(at, entry.name);
      if (entry.isDirectory()) await enter(path);
      else found.push(await fileAt(place, { path, name: relative(top, path) }));
      if (found.length > MOST_FILES) throw refuse(place, `its output ${folder} has more than ${MOST_FILES} files`);
    }
  };
  try {
    await enter(top);
  } catch (error) {
    if (codeOf(error) === "ENOTDIR") throw refuse(place, `its output ${folder} is a file; name it in files`);
    throw diskFault(error, { op: "save outputs", subject: top, otherwise: "READ_FAILED" });
  }
  if (found.length === 0) throw refuse(place, `its output ${folder} is an empty folder`);
  return found;
}

const refuse = ({ name }: JobPlace, detail: string): Fault =>
  new Fault("BAD_INPUT", { op: "save outputs", subject: name, detail });

/** Returns the path of an output. No part of it is a link: a link could lead to any file of this machine. @throws Fault BAD_INPUT, LINK_REFUSED */
async function pathInside(place: JobPlace, path: string): Promise<string> {
  const { own, cwd } = place;
  if (own === null) throw refuse(place, "its outputs lie outside of its own folder");
  let at = own;
  for (const segment of ["", ...relative(own, join(cwd, path)).split("/")]) {
    at = join(at, segment);
    const stats = await lstat(at).catch(() => null);
    if (stats === null) throw refuse(place, `the program left no ${path}, which is an output of it`);
    if (stats.isSymbolicLink()) throw linkRefused(place, at);
  }
  return at;
}

const linkRefused = ({ cwd }: JobPlace, path: string): Fault => {
  const detail = "it is a link, which could lead to any file of the machine; copy the file to save it";
  return new Fault("LINK_REFUSED", { op: "save outputs", subject: relative(cwd, path), detail });
};

async function fileAt(place: JobPlace, { path, name }: { path: string; name: string }): Promise<OutputFile> {
  const stats = await lstat(path, { bigint: true });
  if (stats.isSymbolicLink()) throw linkRefused(place, path);
  if (!stats.isFile()) throw refuse(place, `${name}, which is an output of it, is no file`);
  const why = whyPathRefused(name);
  if (why !== null) throw new Fault("HOSTILE_NAME", { op: "save outputs", subject: name, detail: why });
  return { path, name, sizeBytes: Number(stats.size), identity: identityOf(stats) };
}
