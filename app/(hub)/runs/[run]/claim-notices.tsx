"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { RunView } from "#protocol/wire/views.ts";
import { Age } from "../../../_hub/live/age.tsx";
import { hub } from "../../../_hub/queries/client.ts";
import { FaultNote } from "../../../_hub/faults/fault-note.tsx";
import { useWhyNot } from "../../../_hub/session/person.tsx";
import { useAction } from "../../../_hub/actions/use-action.ts";
import { Banner } from "../../../_ui/feedback/banner.tsx";
import { Button } from "../../../_ui/controls/button.tsx";
import { Dialog } from "../../../_ui/layout/dialog.tsx";
import { say } from "../../../_ui/feedback/toast.tsx";
import { visibleText } from "../../../_ui/text/visible-text.ts";

type Asked = RunView["askedBy"][number];

/** Lists nodes whose request to write a run was refused, with a button that hands the run over to one of them. */
export function ClaimNotices({ run }: { run: RunView }) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const whyNot = useWhyNot("operator");
  const { handedTo } = run;
  return (
    <>
      {handedTo !== null && (
        <Banner tone="moving" title={`${visibleText(handedTo.nodeName)} may take this run over.`}>
          It does when it asks again, within a day.
        </Banner>
      )}
      {run.askedBy
        .filter(({ nodeId }) => nodeId !== handedTo?.nodeId)
        .slice(0, 5)
        .map((one) => (
          <Banner
            key={one.nodeId}
            tone="risk"
            speech="quiet"
            title={`${visibleText(one.nodeName)} asked to write this run and was refused.`}
            action={
              <Button disabled={whyNot !== null} title={whyNot ?? undefined} onClick={() => setAsked(one)}>
                Hand over…
              </Button>
            }
          >
            <Age at={one.at} />
            {run.writerNodeName !== null && `; ${visibleText(run.writerNodeName)} writes it`}. If that node is none of
            yours, revoke it and its join token.
          </Banner>
        ))}
      {asked !== null && <HandOverDialog run={run} asked={asked} onClose={() => setAsked(null)} />}
    </>
  );
}

function HandOverDialog({ run, asked, onClose }: { run: RunView; asked: Asked; onClose: () => void }) {
  const client = useQueryClient();
  const name = visibleText(asked.nodeName);
  const handOver = useAction(() => hub.runs.handOver.mutate({ run: run.name, nodeId: asked.nodeId }));
  return (
    <Dialog
      open
      onClose={onClose}
      width="narrow"
      title={`Hand ${visibleText(run.name)} over to ${name}?`}
      footer={
        <>
          <span className="flex-1" />
          <Button onClick={onClose}>Keep it</Button>
          <Button
            look="danger"
            disabled={handOver.busy}
            onClick={() =>
              handOver.run(undefined, () => {
                void client.invalidateQueries();
                say("quiet", `${asked.nodeName} may take ${run.name} over.`);
                onClose();
              })
            }
          >
            {handOver.busy ? "Handing over" : "Hand over"}
          </Button>
        </>
      }
    >
      <p>
        {run.newestStep === null
          ? `${name} takes the run the next time it asks. It has no safe checkpoint: ${name} starts from 0.`
          : `${name} goes on from ${stepWords(run.newestStep)} the next time it asks.`}{" "}
        {run.writerNodeName === null
          ? "No node writes it now."
          : `${visibleText(run.writerNodeName)} then stops saving this run, even while its program continues.`}
      </p>
      {handOver.fault !== null && <FaultNote fault={handOver.fault} />}
    </Dialog>
  );
}
