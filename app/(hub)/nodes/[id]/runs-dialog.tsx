"use client";
import { useState } from "react";
import type { NodeRow } from "#protocol/wire/views.ts";
import { readRunPatterns, runPatternsWrong } from "../../../_add-node/run-patterns.ts";
import { hub } from "../../../_hub/queries/client.ts";
import { FaultNote } from "../../../_hub/faults/fault-note.tsx";
import { useAction } from "../../../_hub/actions/use-action.ts";
import { Button } from "../../../_ui/controls/button.tsx";
import { Dialog } from "../../../_ui/layout/dialog.tsx";
import { TextField } from "../../../_forms/text-field.tsx";
import { say } from "../../../_ui/feedback/toast.tsx";
import { visibleText } from "../../../_ui/text/visible-text.ts";

/** Which runs a node may write. */
export function RunsDialog({ node, onClose }: { node: NodeRow; onClose: () => void }) {
  const [text, setText] = useState((node.mayWrite ?? "").replaceAll(",", ", "));
  const wrong = runPatternsWrong(text);
  const save = useAction(() => hub.nodes.setRuns.mutate({ id: node.id, runs: readRunPatterns(text) }));
  return (
    <Dialog
      open
      onClose={onClose}
      width="narrow"
      title={`Runs of ${visibleText(node.name)}`}
      footer={
        <>
          <span className="flex-1" />
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="main"
            disabled={save.busy || wrong !== undefined}
            onClick={() =>
              save.run(undefined, () => {
                say("quiet", `The runs of ${node.name} were changed.`);
                onClose();
              })
            }
          >
            {save.busy ? "Saving" : "Save"}
          </Button>
        </>
      }
    >
      <TextField
        label="May write"
        hint="Patterns such as llama-*, eval-?. Empty: the runs it named when it joined, and new ones. What it writes now it goes on writing."
        error={wrong}
        className="font-mono"
        value={text}
        onChange={setText}
      />
      {save.fault !== null && <FaultNote fault={save.fault} />}
    </Dialog>
  );
}
