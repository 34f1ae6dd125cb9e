"use client";
import { useState } from "react";
import type { NodeRow } from "#protocol/wire/views.ts";
import { readRunPatterns, runPatternsWrong } from "../../../_add-node/run-patterns.ts";
import { hub } from "../../../_hub/queries/client.ts";
import { useAction } from "../../../_hub/actions/use-action.ts";
import { Dialog } from "../../../_ui/layout/dialog.tsx";
import { FormEnd } from "../../../_forms/form-end.tsx";
import { Form, FormFault } from "../../../_forms/form.tsx";
import { TextField } from "../../../_forms/text-field.tsx";
import { say } from "../../../_ui/feedback/toast.tsx";
import { visibleText } from "../../../_ui/text/visible-text.ts";

/** Shows a dialog for the runs that a node may write. */
export function RunsDialog({ node, onClose }: { node: NodeRow; onClose: () => void }) {
  const [text, setText] = useState((node.mayWrite ?? "").replaceAll(",", ", "));
  const save = useAction(() => hub.nodes.setRuns.mutate({ id: node.id, runs: readRunPatterns(text) }));
  return (
    <Dialog open onClose={onClose} width="narrow" title={`Runs of ${visibleText(node.name)}`}>
      <Form
        label="Runs"
        errors={{ runs: runPatternsWrong(text) }}
        actions={[save]}
        onSubmit={() =>
          save.run(undefined, () => {
            say("quiet", `The runs of ${node.name} were changed.`);
            onClose();
          })
        }
      >
        <TextField
          label="May write"
          hint="Patterns such as llama-*, eval-?. Empty: the runs it named when it joined, and new ones. It keeps the runs that it writes now."
          path="runs"
          className="font-mono"
          value={text}
          onChange={setText}
        />
        <FormFault />
        <FormEnd word="Save" busyWord="Saving" busy={save.busy} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
