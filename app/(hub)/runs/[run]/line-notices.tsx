"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { useQueryClient } from "@tanstack/react-query";
import { beganElsewhereWords, branchWords } from "#protocol/history/passed-over.ts";
import type { EpochView } from "#protocol/checkpoint/lineage.ts";
import type { RunView } from "#protocol/wire/views.ts";
import { useAction } from "../../../_hub/actions/use-action.ts";
import { FaultNote } from "../../../_hub/faults/fault-note.tsx";
import { Age } from "../../../_hub/live/age.tsx";
import { hub } from "../../../_hub/queries/client.ts";
import { useWhyNot } from "../../../_hub/session/person.tsx";
import { Banner } from "../../../_ui/feedback/banner.tsx";
import { Button } from "../../../_ui/controls/button.tsx";
import { visibleText } from "../../../_ui/text/visible-text.ts";

/** Returns the epoch that is a new line and is trained now; undefined when the present epoch goes on from an earlier one. */
const lineOf = ({ epochs }: RunView): EpochView | undefined => (epochs[0]?.branch == null ? undefined : epochs[0]);

const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/**
 * Says that the run is a new line now, and from which restored checkpoints its programs did not go on. A person dismisses the
 * latter, after which retention treats the restored line as any other.
 */
export function LineNotices({ run }: { run: RunView }) {
  const client = useQueryClient();
  const whyNot = useWhyNot("operator");
  const dismiss = useAction(() => hub.runs.seeLines.mutate({ run: run.name }));
  const line = lineOf(run);
  return (
    <>
      {run.passedOver.map(({ given, fromStep, path, wrote, nodeName, at }, index) => (
        <Banner
          key={`${given.epoch} ${given.step} ${at}`}
          tone="risk"
          speech="quiet"
          title={`The program on ${visibleText(nodeName)} ${beganElsewhereWords({ given: given.step, from: fromStep, path: path === null ? null : visibleText(path), wrote: wrote === undefined ? null : visibleText(wrote) })}.`}
          {...(index === run.passedOver.length - 1 && {
            action: (
              <Button
                disabled={whyNot !== null || dismiss.busy}
                title={whyNot ?? undefined}
                onClick={() => dismiss.run(undefined, () => void client.invalidateQueries())}
              >
                Dismiss
              </Button>
            ),
          })}
        >
          <Age at={at} />. Retention removes nothing of epoch {given.epoch} and before until the run passes{" "}
          {stepWords(given.step)}, or until you dismiss this.
        </Banner>
      ))}
      {line?.branch != null && (
        <Banner tone="moving" speech="quiet" title={`Epoch ${line.epoch} is a new line of training.`}>
          {capital(branchWords(line.branch))}. A restore takes its newest checkpoint as soon as it has one; earlier ones
          stay below.
        </Banner>
      )}
      {dismiss.fault !== null && <FaultNote fault={dismiss.fault} />}
    </>
  );
}
