"use client";
import { isHeard } from "#protocol/fleet/node-status.ts";
import { useState } from "react";
import { orderWords } from "#protocol/wire/order-words.ts";
import type { SentCommand } from "#protocol/wire/send-command.ts";
import { formatCount } from "#protocol/base/units.ts";
import type { NodeRow } from "#protocol/wire/views.ts";
import { useRate } from "../_hub/choices.ts";
import { hub } from "../_hub/client.ts";
import { FaultNote } from "../_hub/fault-note.tsx";
import { newRequestId, useAction } from "../_hub/use-action.ts";
import { Button } from "../_ui/button.tsx";
import { CodeBlock } from "../_ui/code-block.tsx";
import { Dialog } from "../_ui/dialog.tsx";
import { Field } from "../_ui/field.tsx";
import { TextField } from "../_ui/text-field.tsx";
import { Select } from "../_ui/select.tsx";
import { say } from "../_ui/toast.tsx";
import { visibleText } from "../_ui/visible-text.ts";
import { NEW_ORDER, ORDERS, orderCurl, readOrder, type OrderForm, type OrderKind } from "./order-form.ts";

interface OrderDialogProps {
  nodes: readonly NodeRow[];
  kind?: OrderKind;
  onClose: () => void;
}

const ALL_RUNS = "all";
const DIRECTIONS = [
  { value: "both", label: "Both ways" },
  { value: "up", label: "Uploads" },
  { value: "down", label: "Restores" },
] as const;
const PRIORITIES = [
  { value: "high", label: "High" },
  { value: "normal", label: "Normal" },
  { value: "low", label: "Low" },
] as const;

/** What became of it, in a sentence: how many hear of it now, how many later, how many never. */
export function sentWords(sent: readonly SentCommand[]): { tone: "safe" | "risk"; text: string } {
  const refused = sent.filter(({ fault }) => fault !== null).length;
  const now = sent.filter(({ fault, isConnected }) => fault === null && isConnected).length;
  const later = sent.length - refused - now;
  const count = (nodes: number) => (nodes === 1 ? "1 node" : `${formatCount(nodes)} nodes`);
  const parts = [
    ...(now > 0 ? [`${count(now)} ${now === 1 ? "has" : "have"} it`] : []),
    ...(later > 0 ? [`${count(later)} will hear of it on coming back within the hour`] : []),
    ...(refused > 0 ? [`${count(refused)} cannot get it`] : []),
  ];
  return { tone: refused > 0 || later > 0 ? "risk" : "safe", text: `${parts.join(", ")}.` };
}

/** Asks one node, or many, to do something; the effect and the same thing for a script are shown before. */
export function OrderDialog({ nodes, kind, onClose }: OrderDialogProps) {
  // A second press, or a retry after a lost answer, is the same request; another order is another one.
  const [{ form, requestId }, setAsked] = useState({
    form: { ...NEW_ORDER, ...(kind === undefined ? {} : { kind }) },
    requestId: newRequestId(),
  });
  const [wasSent, setWasSent] = useState(false);
  const rate = useRate();
  const choice = ORDERS.find((one) => one.kind === form.kind);
  const read = readOrder(form);
  const nodeIds = nodes.map(({ id }) => id);
  const send = useAction((order: Extract<typeof read, { order: unknown }>["order"]) =>
    hub.commands.send.mutate({ requestId, to: { nodeIds }, order }),
  );
  const change = (changes: Partial<OrderForm>): void =>
    setAsked({ form: { ...form, ...changes }, requestId: newRequestId() });
  const has = (field: string): boolean => choice?.fields.some((one) => one === field) === true;
  const errorOf = (field: string): string | undefined =>
    wasSent && "error" in read && read.field === field ? read.error : undefined;
  const runs = [...new Set(nodes.flatMap((node) => node.runs.map(({ run }) => run)))].toSorted();
  const first = nodes[0];
  const whom =
    nodes.length === 1 && first !== undefined ? visibleText(first.name) : `${formatCount(nodes.length)} nodes`;
  const away = nodes.filter(({ state }) => !isHeard(state)).length;
  const press = (): void => {
    setWasSent(true);
    if (!("order" in read)) return;
    send.run(read.order, ({ sent }) => {
      const words = sentWords(sent);
      say(words.tone === "safe" ? "safe" : "quiet", `${whom}: ${orderWords(read.order, rate)}. ${words.text}`);
      onClose();
    });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Send command to ${whom}`}
      intro={choice?.about}
      footer={
        <>
          <span className="text-12 text-faint">
            {away > 0 &&
              `${away === nodes.length ? (away === 1 ? "It is" : "All are") : `${formatCount(away)} are`} not online: a command waits an hour for its node.`}
          </span>
          <span className="flex-1" />
          <Button onClick={onClose}>{choice?.kind === "cancel-uploads" ? "Keep them" : "Cancel"}</Button>
          <Button look={choice?.effect === "hard" ? "danger" : "main"} disabled={send.busy} onClick={press}>
            {send.busy ? "Sending" : (choice?.title ?? "Send")}
          </Button>
        </>
      }
    >
      <Field label="Command">
        {(ids) => (
          <Select
            {...ids}
            value={form.kind}
            choices={ORDERS.map((one) => ({ value: one.kind, label: one.title }))}
            onChange={(value) => change({ kind: ORDERS.find((one) => one.kind === value)?.kind ?? form.kind })}
          />
        )}
      </Field>
      {has("run") && (
        <Field label="Run" error={errorOf("run")}>
          {(ids) => (
            <Select
              {...ids}
              value={form.run === "" ? (form.kind === "priority" ? null : ALL_RUNS) : form.run}
              placeholder="Choose the run"
              choices={[
                ...(form.kind === "priority" ? [] : [{ value: ALL_RUNS, label: "All runs of the node" }]),
                ...runs.map((run) => ({ value: run, label: visibleText(run) })),
              ]}
              onChange={(run) => change({ run: run === ALL_RUNS ? "" : run })}
            />
          )}
        </Field>
      )}
      {has("direction") && (
        <Field label="Direction">
          {(ids) => (
            <Select
              {...ids}
              value={form.direction}
              choices={DIRECTIONS}
              onChange={(value) =>
                change({ direction: DIRECTIONS.find((one) => one.value === value)?.value ?? form.direction })
              }
            />
          )}
        </Field>
      )}
      {has("rates") && (
        <>
          <TextField
            label="Up"
            hint="20Mbit, 2.5MB/s, or none"
            error={errorOf("up")}
            value={form.up}
            onChange={(value) => change({ up: value })}
            kind="code"
          />
          <TextField
            label="Down"
            hint="The same"
            error={errorOf("down")}
            value={form.down}
            onChange={(value) => change({ down: value })}
            kind="code"
          />
        </>
      )}
      {has("priority") && (
        <Field label="Priority">
          {(ids) => (
            <Select
              {...ids}
              value={form.priority}
              choices={PRIORITIES}
              onChange={(value) =>
                change({ priority: PRIORITIES.find((one) => one.value === value)?.value ?? form.priority })
              }
            />
          )}
        </Field>
      )}
      {has("grace") && (
        <TextField
          label="Grace"
          hint="How long uploads may still take: 60s, 5m"
          error={errorOf("grace")}
          value={form.grace}
          onChange={(value) => change({ grace: value })}
          kind="code"
        />
      )}
      {"order" in read && nodes.length <= 20 && (
        <details className="mt-2">
          <summary className="cursor-pointer text-soft hover:text-ink">The same from a script</summary>
          <div className="pt-2">
            <CodeBlock label="command line" text={orderCurl(read.order, { nodeIds, hubUrl: window.location.origin })} />
          </div>
        </details>
      )}
      {send.fault !== null && (
        <div className="pt-2">
          <FaultNote fault={send.fault} />
        </div>
      )}
    </Dialog>
  );
}
