"use client";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useGo } from "../_ui/navigation/going.tsx";
import { useState } from "react";
import type { EngineNeeds } from "#protocol/benchmarks/views.ts";
import { hub } from "../_hub/queries/client.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { profilesQuery } from "../_hub/queries/queries.ts";
import { newRequestId, useAction } from "../_hub/actions/use-action.ts";
import { FormEnd } from "../_forms/form-end.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { runnable } from "./engine-needs.ts";
import { PreviewNote } from "./preview-note.tsx";
import { LoadFields, NodeFields, TargetFields } from "./start-fields.tsx";
import { FIRST_FORM, readForm, type StartForm } from "./start-form.ts";

/** Exclusive upper limit of the random seed: 32 bits. */
const MOST_SEED = 4_294_967_296;

/** Asks what to compare where, and shows what it would transfer and cost before it starts. */
export function StartDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const go = useGo();
  const profiles = useQuery(profilesQuery()).data ?? [];
  const [form, setForm] = useState<StartForm>(FIRST_FORM);
  const [id] = useState(newRequestId);
  const set = (changes: Partial<StartForm>) => setForm((before) => ({ ...before, ...changes }));
  const [needs, setNeeds] = useState<readonly EngineNeeds[]>();
  const engines = form.engines ?? runnable(needs);
  const found = readForm(form, engines);
  const read = "read" in found ? found.read : null;
  const problems = "problems" in found ? found.problems : {};
  const plan = useQuery({
    queryKey: ["benchmarks", "preview", JSON.stringify(read)],
    queryFn: () => (read === null ? null : hub.benchmarks.preview.query(read)),
    enabled: read !== null,
    placeholderData: keepPreviousData,
    retry: false,
  });
  const told = plan.data?.engines;
  if (told !== undefined && told !== needs) setNeeds(told);
  const start = useAction(async () => {
    if (read === null) return null;
    const seed = Math.floor(Math.random() * MOST_SEED);
    const name = form.name.trim() === "" ? "Benchmark" : form.name.trim();
    return hub.benchmarks.start.mutate({ id, name, ...read, seed });
  });
  return (
    <Dialog
      open
      onClose={onClose}
      width="wide"
      title="New benchmark"
      intro="Every node moves the same random bytes with every engine to every bucket, in an order that is shuffled."
    >
      <Form
        label="New benchmark"
        errors={problems}
        actions={[start]}
        onSubmit={() =>
          start.run(undefined, (begun) => {
            if (begun === null) return;
            void client.invalidateQueries({ queryKey: ["benchmarks"] });
            onClose();
            go?.(`/benchmarks/${begun.id}`);
          })
        }
      >
        <NodeFields form={form} onChange={set} />
        <TargetFields
          form={form}

          profiles={profiles}
          engines={engines}
          needs={needs}
          onChange={set}
        />
        <LoadFields form={form} onChange={set} />
        <div className="mt-2 flex flex-col gap-3 empty:hidden">
          <PreviewNote plan={read === null ? null : (plan.data ?? null)} error={read === null ? null : plan.error} />
          <FormFault />
        </div>
        <FormEnd word="Start" busyWord="Starting" busy={start.busy} disabled={plan.isError} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
