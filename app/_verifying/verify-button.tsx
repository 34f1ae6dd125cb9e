"use client";
import type { CheckpointView } from "#protocol/wire/views.ts";
import { hub } from "../_hub/queries/client.ts";
import { faultOf, wordsOf } from "../_hub/faults/fault-of.ts";
import { useWhyNot } from "../_hub/session/person.tsx";
import { isEnded } from "../_hub/transfers/transfer-words.ts";
import { newRequestId, useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { say } from "../_ui/feedback/toast.tsx";

/** Shows a button that lets a node read the checkpoint back. The page may be closed meanwhile. */
export function VerifyButton({ view }: { view: Pick<CheckpointView, "id" | "state" | "checks"> }) {
  const whyNot = useWhyNot("operator");
  const verify = useAction(() =>
    hub.checkpoints.verify
      .mutate({ requestId: newRequestId(), checkpointId: view.id, nodeId: null })
      .catch((error: unknown) => {
        say("lost", wordsOf(faultOf(error)).says);
        throw error;
      }),
  );
  const isUnderWay = view.checks.some((row) => row.direction === "verify" && !isEnded(row.state));
  const notNow =
    view.state !== "complete"
      ? "Only a complete checkpoint can be verified."
      : isUnderWay
        ? "It is being verified."
        : whyNot;
  return (
    <Button disabled={notNow !== null || verify.busy} title={notNow ?? undefined} onClick={() => verify.run(undefined)}>
      Verify
    </Button>
  );
}
