"use client";
import { isHeard } from "#protocol/fleet/node-status.ts";
import { useState } from "react";
import { commandWords } from "#protocol/wire/command-words.ts";
import { formatCount } from "#protocol/base/units.ts";
import type { NodeRow } from "#protocol/wire/views.ts";
import { useRate } from "../_hub/preferences/choices.ts";
import { hub } from "../_hub/queries/client.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { newRequestId, useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { CodeBlock } from "../_ui/layout/code-block.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { Field } from "../_forms/field.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { CommandFields } from "./command-fields.tsx";
import { sentWords } from "./sent-words.ts";
import { NEW_COMMAND, COMMANDS, commandCurl, readCommand, type CommandForm, type CommandKind } from "./command-form.ts";

interface CommandDialogProps {
  nodes: readonly NodeRow[];
  kind?: CommandKind;
  onClose: () => void;
}

/** Sends a command to one or many nodes. It shows the effect first, and the equivalent curl command. */
export function CommandDialog({ nodes, kind, onClose }: CommandDialogProps) {
  // The request id makes repeated clicks and retries idempotent; changing the form makes a new id.
  const [{ form, requestId }, setAsked] = useState({
    form: { ...NEW_COMMAND, ...(kind === undefined ? {} : { kind }) },
    requestId: newRequestId(),
  });
  const rate = useRate();
  const choice = COMMANDS.find((one) => one.kind === form.kind);
  const read = readCommand(form);
  const nodeIds = nodes.map(({ id }) => id);
  const send = useAction((order: Extract<typeof read, { order: unknown }>["order"]) =>
    hub.commands.send.mutate({ requestId, to: { nodeIds }, order }),
  );
  const change = (changes: Partial<CommandForm>): void =>
    setAsked({ form: { ...form, ...changes }, requestId: newRequestId() });
  const runs = [...new Set(nodes.flatMap((node) => node.runs.map(({ run }) => run)))].toSorted();
  const first = nodes[0];
  const whom =
    nodes.length === 1 && first !== undefined ? visibleText(first.name) : `${formatCount(nodes.length)} nodes`;
  const away = nodes.filter(({ state }) => !isHeard(state)).length;
  const press = (): void => {
    if (!("order" in read)) return;
    send.run(read.order, ({ sent }) => {
      const words = sentWords(sent);
      say(words.tone === "safe" ? "safe" : "quiet", `${whom}: ${commandWords(read.order, rate)}. ${words.text}`);
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
          <Button type="submit" form="order" look={choice?.effect === "hard" ? "danger" : "main"} disabled={send.busy}>
            {send.busy ? "Sending" : (choice?.title ?? "Send")}
          </Button>
        </>
      }
    >
      <Form
        id="order"
        label="Order"
        errors={"error" in read ? { [read.field]: read.error } : {}}
        actions={[send]}
        onSubmit={press}
      >
        <Field label="Command">
          {(ids) => (
            <Select
              {...ids}
              value={form.kind}
              choices={COMMANDS.map((one) => ({ value: one.kind, label: one.title }))}
              onChange={(value) => change({ kind: COMMANDS.find((one) => one.kind === value)?.kind ?? form.kind })}
            />
          )}
        </Field>
        <CommandFields form={form} choice={choice} runs={runs} onChange={change} />
        {"order" in read && nodes.length <= 20 && (
          <details className="mt-2">
            <summary className="cursor-pointer text-soft hover:text-ink">The same from a script</summary>
            <div className="pt-2">
              <CodeBlock
                label="command line"
                text={commandCurl(read.order, { nodeIds, hubUrl: window.location.origin })}
              />
            </div>
          </details>
        )}
        <FormFault />
      </Form>
    </Dialog>
  );
}
