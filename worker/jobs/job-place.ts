import { constants } from "node:fs";
import { lstat, mkdir, open, realpath, stat, type FileHandle } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { jobSpec, type JobSpec } from "#protocol/jobs/job-spec.ts";
import type { TakenJob } from "#protocol/jobs/node-jobs.ts";
import { id } from "#protocol/base/names.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { readWatches, type Watch } from "../capture/watch.ts";
import { codeOf, diskFault } from "../base/disk-fault.ts";
import type { ProgramUser } from "../program/program-user.ts";

/** Where an attempt of a job runs on this machine. */
export interface JobPlace {
  /** Name of the job for people. */
  name: string;
  spec: JobSpec;
  /** Working folder of the program. */
  cwd: string;
  /** The job's own folder, which the worker created; null when the job names a folder of the machine. */
  own: string | null;
  watches: readonly Watch[];
}

const refuse = (job: Pick<TakenJob, "name">, detail: string): Fault =>
  new Fault("BAD_INPUT", { op: "work", subject: job.name, detail });

/**
 * Reads where a job runs: in the folder that it names, below `folder` with the job's id when it names none or a relative one.
 * Nothing is created. @throws Fault BAD_INPUT when this worker cannot run the job
 */
export function readPlace(job: TakenJob, folder: string): JobPlace {
  const parsed = jobSpec.safeParse(job.spec);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw refuse(job, `this worker cannot read it: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? "not valid"}`);
  }
  const spec = parsed.data;
  const own = join(folder, id.parse(job.id));
  const cwd = resolve(own, spec.workingFolder ?? ".");
  const folders = spec.watch.map((watch) => resolve(cwd, watch));
  const watches = readWatches({ folders, runs: folders.map(() => job.run), patterns: [] });
  return { name: job.name, spec, cwd, own: isIn(own, cwd) ? own : null, watches };
}

const isIn = (own: string, folder: string): boolean => folder === own || folder.startsWith(`${own}${sep}`);

/**
 * Creates the own folder of a job and the folders below it, for the user of its program. A job is no reason to create or give
 * away anything else: a folder outside has to exist. @throws Fault BAD_INPUT, FOLDER_UNWRITABLE, NO_SPACE
 */
export async function makePlace(
  { name, cwd, own, watches }: Pick<JobPlace, "name" | "cwd" | "own" | "watches">,
  user: ProgramUser | null,
): Promise<void> {
  for (const folder of [...(own === null ? [] : [own]), cwd, ...watches.map((watch) => watch.folder)]) {
    try {
      if (own === null || !isIn(own, folder)) await assertThere(name, folder);
      else if (user === null) await makeAsWorker(name, { own, folder });
      else await makeFor(user, { name, own, folder });
    } catch (error) {
      throw diskFault(error, { op: "work", subject: folder, otherwise: "FOLDER_UNWRITABLE" });
    }
  }
}

async function assertThere(name: string, folder: string): Promise<void> {
  const found = await stat(folder).catch(() => null);
  if (found?.isDirectory() === true) return;
  throw refuse({ name }, `the folder ${folder} does not exist, and a worker creates folders only below the job's own`);
}

/** Creates a folder; one that a symbolic link puts outside of the own folder has to exist. */
async function makeAsWorker(name: string, { own, folder }: { own: string; folder: string }): Promise<void> {
  const inside = await realpath(dirname(own)).then((parent) => join(parent, relative(dirname(own), own)));
  let at = folder;
  while (at !== own && (await lstat(at).catch(() => null)) === null) at = dirname(at);
  const found = await realpath(at).catch(() => (at === own ? inside : null));
  if (found === null || !isIn(inside, found)) await assertThere(name, folder);
  else await mkdir(folder, { recursive: true, mode: 0o755 });
}

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Creates a folder for another user, one name after the other. Each is opened without following a link and created in the open
 * one before it, because a program of this user may exchange them at any moment. Only Linux has other users of programs.
 */
async function makeFor(user: ProgramUser, about: { name: string; own: string; folder: string }): Promise<void> {
  const { name, own, folder } = about;
  const below = relative(own, folder);
  let parent = await open(dirname(own), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    for (const [at, one] of [relative(dirname(own), own), ...(below === "" ? [] : below.split(sep))].entries()) {
      const path = `/proc/self/fd/${parent.fd}/${one}`;
      const isNew = await mkdir(path, { mode: 0o755 }).then(
        () => true,
        (error: unknown) => {
          if (codeOf(error) === "EEXIST") return false;
          throw error;
        },
      );
      const next = await openFolder(path, { name, folder });
      await parent.close();
      parent = next;
      if (isNew || at === 0) await parent.chown(user.uid, user.gid);
    }
  } finally {
    await parent.close();
  }
}

async function openFolder(path: string, { name, folder }: { name: string; folder: string }): Promise<FileHandle> {
  try {
    return await open(path, FOLDER);
  } catch (error) {
    if (codeOf(error) !== "ELOOP" && codeOf(error) !== "ENOTDIR") throw error;
    throw refuse({ name }, `the folder ${folder} is reached through a symbolic link or a file in the job's own folder`);
  }
}
