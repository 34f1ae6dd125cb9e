"use client";
import { useState } from "react";
import type { LossSummary } from "#protocol/history/losses.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { InlineField } from "../_forms/inline-field.tsx";
import { hub } from "../_hub/queries/client.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { TextInput } from "../_ui/controls/text-input.tsx";

interface PriceFormProps {
  /** Null sets the default for runs without a price of their own. */
  run: string | null;
  price: LossSummary["price"];
  onDone: () => void;
}

/** Shows a form for the price of a node-hour, which converts lost time into money. */
export function PriceForm({ run, price, onDone }: PriceFormProps) {
  const [perHour, setPerHour] = useState(price === null ? "" : String(price.perHour));
  const [currency, setCurrency] = useState(price?.currency ?? "USD");
  const amount = /^\d{1,5}(\.\d{1,4})?$/.test(perHour.trim()) ? Number(perHour) : null;
  const words = run === null ? "A node-hour of any run costs" : "A node-hour of this run costs";
  const errors = {
    perHour: perHour.trim() !== "" && amount === null ? "A price is a number such as 0.25." : undefined,
    currency: /^[A-Z]{3}$/.test(currency) ? undefined : "A currency is three letters, for example USD.",
  };
  const save = useAction(() =>
    hub.losses.setPrice.mutate({ run, price: amount === null ? null : { perHour: amount, currency } }),
  );
  return (
    <Form
      label="Price of a node-hour"
      className="flex flex-col gap-2 border-b border-line px-4 py-3"
      errors={errors}
      actions={[save]}
      onSubmit={() => save.run(undefined, onDone)}
    >
      <div className="flex flex-wrap items-baseline gap-2">
        <label className="contents">
          <span className="text-soft">{words}</span>
          <InlineField label={words} path="perHour" className="max-w-44">
            {(attributes) => (
              <TextInput
                {...attributes}
                inputMode="decimal"
                className="max-w-24"
                value={perHour}
                placeholder="none"
                onChange={(event) => setPerHour(event.target.value)}
              />
            )}
          </InlineField>
        </label>
        <InlineField label="Currency" path="currency" required className="max-w-44">
          {(attributes) => (
            <TextInput
              {...attributes}
              kind="code"
              className="max-w-20"
              value={currency}
              maxLength={3}
              onChange={(event) => setCurrency(event.target.value.toUpperCase())}
            />
          )}
        </InlineField>
        <Button type="submit" size="small" disabled={save.busy}>
          {save.busy ? "Saving" : "Save"}
        </Button>
        <Button look="quiet" size="small" onClick={onDone}>
          Cancel
        </Button>
      </div>
      {run !== null && price?.of === "fleet" && (
        <p className="text-12 text-faint">Without a price of its own, the price for all runs counts.</p>
      )}
      <FormFault />
    </Form>
  );
}
