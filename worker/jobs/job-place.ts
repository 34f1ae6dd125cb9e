import { chown, mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { jobSpec, type JobSpec } from "#protocol/jobs/job-spec.ts";
import type { TakenJob } from "#protocol/jobs/node-jobs.ts";
import { id } from "#protocol/base/names.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { readWatches, type Watch } from "../capture/watch.ts";
import { diskFault } from "../base/disk-fault.ts";
import type { ProgramUser } from "../program/program-user.ts";

/** Where an attempt of a job runs on this machine. */
export interface JobPlace {
  spec: JobSpec;
  /** Working folder of the program. */
  cwd: string;
  /** The job's own folder, which the worker created; null when the job names a folder of the machine. */
  own: string | null;
  watches: readonly Watch[];
}

const refuse = (job: TakenJob, detail: string): Fault =>
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
  const [watch, another] = spec.watch;
  if (another !== undefined) throw refuse(job, "it watches several folders, and a run has one watched folder");
  const folders = watch === undefined ? [] : [resolve(cwd, watch)];
  const watches = readWatches({ folders, runs: folders.map(() => job.run), patterns: [] });
  return { spec, cwd, own: cwd === own || cwd.startsWith(`${own}/`) ? own : null, watches };
}

/** Creates the folders of a job for the user of its program. @throws Fault FOLDER_UNWRITABLE, NO_SPACE */
export async function makePlace({ cwd, own, watches }: JobPlace, user: ProgramUser | null): Promise<void> {
  const folders = [...(own === null ? [] : [own]), cwd, ...watches.map(({ folder }) => folder)];
  for (const folder of folders) {
    try {
      const made = await mkdir(folder, { recursive: true, mode: 0o755 });
      if (user !== null && (made !== undefined || folder === own)) await chown(folder, user.uid, user.gid);
    } catch (error) {
      throw diskFault(error, { op: "work", subject: folder, otherwise: "FOLDER_UNWRITABLE" });
    }
  }
}
