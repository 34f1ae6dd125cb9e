"use client";
import { useState } from "react";
import { hub } from "../_hub/queries/client.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { InlineField } from "../_forms/inline-field.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { TextInput } from "../_ui/controls/text-input.tsx";
import { FilterWords } from "../_ui/controls/filter-words.tsx";

const TIMES = [
  { id: "7", label: "7 days", days: 7 },
  { id: "30", label: "30 days", days: 30 },
  { id: "ever", label: "for good", days: null },
] as const;

interface DismissFormProps {
  adviceKey: string;
  onDone: () => void;
  onCancel: () => void;
}

/** Shows a form for the reason why advice is dismissed, and for how long. */
export function DismissForm({ adviceKey, onDone, onCancel }: DismissFormProps) {
  const [reason, setReason] = useState("");
  const [time, setTime] = useState("30");
  const forDays = (TIMES.find(({ id }) => id === time) ?? TIMES[1]).days;
  const dismiss = useAction(() => hub.advice.dismiss.mutate({ key: adviceKey, reason: reason.trim(), forDays }));
  return (
    <Form
      label="Dismiss"
      className="mt-2 flex flex-col gap-2"
      errors={{ reason: reason.trim() === "" ? "Say why, for the others." : undefined }}
      actions={[dismiss]}
      onSubmit={() => dismiss.run(undefined, onDone)}
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <InlineField label="Why" path="reason" required className="min-w-0 flex-1 basis-52">
          {(attributes) => (
            <TextInput
              {...attributes}
              placeholder="Why: known, accepted, being looked at"
              maxLength={256}
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
          )}
        </InlineField>
        <FilterWords label="For how long" words={TIMES} value={time} onChange={setTime} />
        <Button type="submit" size="small" disabled={dismiss.busy}>
          {dismiss.busy ? "Dismissing" : "Dismiss"}
        </Button>
        <Button look="quiet" size="small" onClick={onCancel}>
          Cancel
        </Button>
      </div>
      <FormFault />
    </Form>
  );
}
