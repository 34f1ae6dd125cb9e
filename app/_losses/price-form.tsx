"use client";
import { useId, useState } from "react";
import type { LossSummary } from "#protocol/history/losses.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { TextInput } from "../_ui/controls/text-input.tsx";

interface PriceFormProps {
  /** Null: of all runs that have no price of their own. */
  run: string | null;
  price: LossSummary["price"];
  onDone: () => void;
}

/** What an hour of a node costs, so that lost time is money. */
export function PriceForm({ run, price, onDone }: PriceFormProps) {
  const id = useId();
  const [perHour, setPerHour] = useState(price === null ? "" : String(price.perHour));
  const [currency, setCurrency] = useState(price?.currency ?? "USD");
  const amount = /^\d{1,5}(\.\d{1,4})?$/.test(perHour.trim()) ? Number(perHour) : null;
  const wrong =
    perHour.trim() !== "" && amount === null
      ? "A price is a number such as 0.25."
      : /^[A-Z]{3}$/.test(currency)
        ? null
        : "A currency is three letters, for example USD.";
  const save = useAction(() =>
    hub.losses.setPrice.mutate({ run, price: amount === null ? null : { perHour: amount, currency } }),
  );
  return (
    <form
      className="flex flex-col gap-2 border-b border-line px-4 py-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (wrong === null) save.run(undefined, onDone);
      }}
    >
      <div className="flex flex-wrap items-center gap-2">
        <label htmlFor={`${id}-price`} className="text-soft">
          {run === null ? "A node-hour of any run costs" : "A node-hour of this run costs"}
        </label>
        <div className="w-24">
          <TextInput
            id={`${id}-price`}
            inputMode="decimal"
            value={perHour}
            placeholder="none"
            onChange={(event) => setPerHour(event.target.value)}
          />
        </div>
        <div className="w-20">
          <TextInput
            aria-label="Currency"
            kind="code"
            value={currency}
            maxLength={3}
            onChange={(event) => setCurrency(event.target.value.toUpperCase())}
          />
        </div>
        <Button type="submit" size="small" disabled={wrong !== null || save.busy}>
          {save.busy ? "Saving" : "Save"}
        </Button>
        <Button look="quiet" size="small" onClick={onDone}>
          Cancel
        </Button>
      </div>
      {wrong !== null && <p className="text-lost">{wrong}</p>}
      {run !== null && price?.of === "fleet" && (
        <p className="text-12 text-faint">Without a price of its own, that of all runs counts.</p>
      )}
      {save.fault !== null && <FaultNote fault={save.fault} />}
    </form>
  );
}
