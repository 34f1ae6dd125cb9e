"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { useState } from "react";
import type { AdoptionView } from "#protocol/checkpoint/adopted.ts";
import type { CheckpointView } from "#protocol/wire/views.ts";
import { hub } from "../_hub/queries/client.ts";
import { ConfirmDialog } from "../_hub/actions/confirm-dialog.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

type Asked = "release" | "sums" | null;

/** Shows the actions on an adopted checkpoint, which another tool wrote: forget its checksums, release it. */
export function AdoptionActions({ view, adoption }: { view: CheckpointView; adoption: AdoptionView }) {
  const whyNot = useWhyNot("operator");
  const [asked, setAsked] = useState<Asked>(null);
  const close = () => setAsked(null);
  return (
    <>
      {adoption.summed !== null && (
        <Button look="quiet" size="small" whyNot={whyNot} onClick={() => setAsked("sums")}>
          Forget checksums…
        </Button>
      )}
      <Button look="quiet" size="small" whyNot={whyNot} onClick={() => setAsked("release")}>
        Release…
      </Button>
      {asked === "release" && (
        <ConfirmDialog
          title={`Release ${stepWords(view.step)} of ${visibleText(view.run)}?`}
          words={{ button: "Release", busy: "Releasing", keep: "Keep it" }}
          run={() => hub.adoptions.release.mutate({ id: view.id })}
          onDone={() => say("safe", "It was released. Its objects are where they were.")}
          onClose={close}
        >
          Tidemark forgets it and removes the manifest that it wrote. The objects at{" "}
          <span className="font-mono text-12 break-all">{visibleText(adoption.place)}</span> are not touched, and it can
          be adopted again.
        </ConfirmDialog>
      )}
      {asked === "sums" && (
        <ConfirmDialog
          title="Forget the checksums?"
          words={{ button: "Forget", busy: "Forgetting", keep: "Keep them" }}
          run={() => hub.adoptions.forgetSums.mutate({ id: view.id })}
          onDone={() => say("safe", "The next restore records new checksums.")}
          onClose={close}
        >
          Only when restores fail although the objects are right: a faulty node may have recorded wrong checksums. The
          next restore records new ones.
        </ConfirmDialog>
      )}
    </>
  );
}
