"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useRouter } from "next/navigation";
import type { JobDraft } from "#protocol/jobs/job-spec.ts";
import { Field } from "../_forms/field.tsx";
import { Form, FormFault } from "../_forms/form.tsx";
import { FormEnd } from "../_forms/form-end.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { hub } from "../_hub/queries/client.ts";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { TextArea } from "../_ui/controls/text-input.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { CodeBlock } from "../_ui/layout/code-block.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { clockTime, shortDay } from "../_ui/text/times.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import {
  asCommand,
  asCurl,
  asFile,
  EMPTY_FIELDS,
  fieldsLike,
  readFields,
  scheduleOf,
  type JobFields,
  type ScheduleDraft,
} from "./job-form.ts";
import { lastJobQuery } from "./job-queries.ts";

/** A form that submits one job, or sets the schedule of one. It begins with the fields of the newest job. `queue`: the queue that the page shows. */
export function SubmitDialog({ queue, onClose }: { queue: string; onClose: () => void }) {
  const last = useQuery({ ...lastJobQuery(), staleTime: Infinity });
  const isKnown = last.data !== undefined || last.isError;
  const like = last.data === undefined || last.data === null ? EMPTY_FIELDS : fieldsLike(last.data);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Submit a job"
      intro="A node of the queue runs the command, and another one goes on with it when the first is interrupted."
    >
      {isKnown ? (
        <SubmitForm first={queue === "" ? like : { ...like, queue }} onClose={onClose} />
      ) : (
        <SkeletonRows rows={6} label="Loading the last job" />
      )}
    </Dialog>
  );
}

function SubmitForm({ first, onClose }: { first: JobFields; onClose: () => void }) {
  const client = useQueryClient();
  const router = useRouter();
  const [fields, setFields] = useState(first);
  const set = (some: Partial<JobFields>) => setFields((old) => ({ ...old, ...some }));
  const read = readFields(fields);
  const schedule = scheduleOf(fields);
  const submit = useAction((job: JobDraft) => hub.jobs.submit.mutate({ jobs: [job] }));
  const setSchedule = useAction((about: ScheduleDraft & { job: JobDraft }) => hub.jobs.setSchedule.mutate(about));
  return (
    <Form
      label="Job"
      errors={"errors" in read ? read.errors : {}}
      actions={[submit, setSchedule]}
      onSubmit={() => {
        if (!("job" in read)) return;
        if (schedule !== null) {
          setSchedule.run({ ...schedule, job: read.job }, ({ nextAt, isNew }) => {
            void client.invalidateQueries({ queryKey: ["jobs"] });
            const what = `${isNew ? "Schedule" : "Replaced the schedule"} ${visibleText(schedule.name)}`;
            say("safe", `${what}: its next job is submitted on ${shortDay(nextAt)} at ${clockTime(nextAt)}.`);
            onClose();
          });
          return;
        }
        submit.run(read.job, ({ jobs: [made, ...others] }) => {
          void client.invalidateQueries({ queryKey: ["jobs"] });
          if (made === undefined) return;
          const isOne = others.length === 0;
          say("safe", `${isOne ? `Job ${made.number} waits` : `${others.length + 1} jobs wait`} in ${made.queue}.`);
          onClose();
          const one = `/jobs/${encodeURIComponent(made.id)}`;
          router.push(isOne ? one : `/jobs?queue=${encodeURIComponent(made.queue)}`);
        });
      }}
    >
      <TextField
        label="Command"
        hint="Executed without a shell. For pipes and variables: sh -c '…'"
        path="command"
        required
        kind="code"
        value={fields.command}
        placeholder="python train.py"
        onChange={(command) => set({ command })}
      />
      <TextField
        label="Watched folder"
        hint="Absolute, or in the working folder. Its checkpoints are kept safe and restored."
        path="watch"
        kind="code"
        value={fields.watch}
        placeholder="out"
        onChange={(watch) => set({ watch })}
      />
      <TextField
        label="Name"
        path="name"
        value={fields.name}
        maxLength={128}
        placeholder="for people to read"
        onChange={(name) => set({ name })}
      />
      <TextField
        label="Queue"
        path="queue"
        required
        value={fields.queue}
        maxLength={64}
        onChange={(queue) => set({ queue })}
      />
      <ScheduleFields fields={fields} set={set} />
      <MoreFields fields={fields} set={set} />
      {"job" in read && <OtherWays job={read.job} schedule={schedule} />}
      <FormFault />
      {schedule === null ? (
        <FormEnd word="Submit" busyWord="Submitting" busy={submit.busy} onCancel={onClose} />
      ) : (
        <FormEnd word="Set schedule" busyWord="Setting" busy={setSchedule.busy} onCancel={onClose} />
      )}
    </Form>
  );
}

interface FieldsProps {
  fields: JobFields;
  set: (some: Partial<JobFields>) => void;
}

/** Fields of a schedule. Without times the job is submitted once. */
function ScheduleFields({ fields, set }: FieldsProps) {
  return (
    <details className="py-1.5">
      <summary className="w-fit text-soft">Schedule</summary>
      <TextField
        label="Times"
        hint="Minute, hour, day of the month, month, day of the week: 0 3 * * 1-5 is at 3:00 from Monday to Friday. Empty: submit once, now."
        path="cron"
        kind="code"
        value={fields.cron}
        maxLength={128}
        placeholder="0 3 * * *"
        onChange={(cron) => set({ cron })}
      />
      <TextField
        label="Time zone"
        hint="For example UTC or Europe/Berlin."
        path="timeZone"
        value={fields.timeZone}
        maxLength={64}
        onChange={(timeZone) => set({ timeZone })}
      />
      <TextField
        label="Schedule"
        hint="Its name. Empty: the name of the job. A schedule of this name is replaced."
        path="schedule"
        value={fields.schedule}
        maxLength={64}
        placeholder="nightly"
        onChange={(schedule) => set({ schedule })}
      />
      <label className="flex items-center gap-2 py-1">
        <input
          type="checkbox"
          className="size-4 shrink-0 accent-accent"
          checked={fields.overlaps}
          onChange={({ target }) => set({ overlaps: target.checked })}
        />
        Submit a job also while the previous one waits or runs
      </label>
    </details>
  );
}

/** Fields that most jobs leave as they are. */
function MoreFields({ fields, set }: FieldsProps) {
  return (
    <details className="py-1.5">
      <summary className="w-fit text-soft">
        Inputs, outputs, run, working folder, environment, secrets, matrix, order, policy and needs
      </summary>
      <LinesField
        label="Inputs"
        hint="One PREFIX -> FOLDER a line, or BUCKET: PREFIX -> FOLDER. The objects are in the folder when the program starts."
        path="inputs"
        value={fields.inputs}
        placeholder="data/train -> data"
        onChange={(inputs) => set({ inputs })}
      />
      <LinesField
        label="Outputs"
        hint="One FOLDER -> PREFIX a line, or file.json -> PREFIX. The job is done when they are in the bucket."
        path="outputs"
        value={fields.outputs}
        placeholder="out -> results/llama"
        onChange={(outputs) => set({ outputs })}
      />
      <TextField
        label="Run"
        hint="The job goes on from the newest safe checkpoint of this run. Empty: a run of its own."
        path="run"
        value={fields.run}
        maxLength={128}
        onChange={(run) => set({ run })}
      />
      <TextField
        label="Working folder"
        hint="Empty: a folder of the job’s own."
        path="workingFolder"
        kind="code"
        value={fields.workingFolder}
        onChange={(workingFolder) => set({ workingFolder })}
      />
      <LinesField
        label="Environment"
        hint="One NAME=value a line. Operators and the nodes that take the job can read it."
        path="environment"
        value={fields.environment}
        placeholder="WANDB_MODE=offline"
        onChange={(environment) => set({ environment })}
      />
      <LinesField
        label="Secrets"
        hint="One NAME=value a line. The hub seals the values, and only the node that takes the job gets them. Nodes may be machines of strangers, who can read what runs there: use keys that open one thing and can be revoked."
        path="secrets"
        value={fields.secrets}
        placeholder="HF_TOKEN=hf_…"
        onChange={(secrets) => set({ secrets })}
      />
      <LinesField
        label="Matrix"
        hint="One NAME=a, b or NAME=1..9 a line. A job for each combination, 1,000 at most; {{NAME}} in the command stands for the value."
        path="matrix"
        value={fields.matrix}
        placeholder="lr=1e-4, 3e-4"
        onChange={(matrix) => set({ matrix })}
      />
      <TextField
        label="After"
        hint="Ids of jobs that have to be done first. When one of them fails or is canceled, this job fails too."
        path="after"
        kind="code"
        value={fields.after}
        onChange={(after) => set({ after })}
      />
      <TextField
        label="Priority"
        hint="From -100 to 100. Higher goes first."
        path="priority"
        inputMode="numeric"
        value={fields.priority}
        onChange={(priority) => set({ priority })}
      />
      <TextField
        label="Failures"
        hint="The job fails after so many. Interruptions do not count."
        path="mostFailures"
        inputMode="numeric"
        value={fields.mostFailures}
        onChange={(mostFailures) => set({ mostFailures })}
      />
      <TextField
        label="GPU memory"
        hint="Least memory of one GPU, in GB. Empty: any node."
        path="gpuGb"
        inputMode="decimal"
        value={fields.gpuGb}
        onChange={(gpuGb) => set({ gpuGb })}
      />
    </details>
  );
}

interface LinesFieldProps {
  label: string;
  hint: string;
  path: keyof JobFields;
  value: string;
  placeholder: string;
  onChange: (value: string) => void;
}

function LinesField({ label, hint, path, value, placeholder, onChange }: LinesFieldProps) {
  return (
    <Field label={label} hint={hint} path={path}>
      {(ids) => (
        <TextArea
          {...ids}
          kind="code"
          rows={Math.min(6, Math.max(1, value.split("\n").length))}
          value={value}
          placeholder={placeholder}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

const WAYS = [
  { id: "file", label: "As a file" },
  { id: "curl", label: "As curl" },
];

/** Shows the same submission for a command line. */
function OtherWays({ job, schedule }: { job: JobDraft; schedule: ScheduleDraft | null }) {
  const [way, setWay] = useState("file");
  return (
    <details className="py-1.5">
      <summary className="w-fit text-soft">The same on a command line</summary>
      <div className="flex flex-col gap-1.5 pt-1.5">
        <FilterWords label="Form" words={WAYS} value={way} onChange={setWay} />
        {way === "file" ? (
          <>
            <CodeBlock label="job.json" text={asFile(job)} />
            <CodeBlock label="command line" text={asCommand(schedule)} />
          </>
        ) : (
          <CodeBlock label="call with curl" text={asCurl(job, { schedule, origin: window.location.origin })} />
        )}
      </div>
    </details>
  );
}
