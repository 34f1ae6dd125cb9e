import { jobSpec, type JobSpec } from "#protocol/jobs/job-spec.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { readStored } from "#server/platform/stored-json.ts";

/** Returns the spec of a job's row. @throws Fault INTERNAL when the row does not match the schema */
export function readSpec(job: { id: string; spec: string }): JobSpec {
  const spec = readStored(job.spec, jobSpec);
  if (spec === null) throw new Fault("INTERNAL", { subject: `the job ${job.id}`, detail: "its spec cannot be read" });
  return spec;
}
