"use client";
import type { CopyView } from "#protocol/wire/homes.ts";
import type { CheckpointView } from "#protocol/wire/views.ts";
import { hub } from "../_hub/queries/client.ts";
import { Age } from "../_hub/live/age.tsx";
import { faultOf, wordsOf } from "../_hub/faults/fault-of.ts";
import { useLiveTransfers } from "../_hub/live/live.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { isEnded } from "../_hub/transfers/transfer-words.ts";
import { TransferLine } from "../_hub/transfers/transfer-line.tsx";
import { newRequestId, useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { Copy } from "../_ui/controls/copy.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import type { Tone } from "../_ui/indicators/mark.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

function stateOf(copy: CopyView): { tone: Tone; text: string } {
  if (copy.state === "copying") return { tone: "moving", text: "being copied" };
  if (copy.damagedAt !== null) return { tone: "lost", text: "damaged" };
  return copy.isAway ? { tone: "risk", text: "out of reach" } : { tone: "safe", text: "complete" };
}

/** Lists the copies of a checkpoint with their state. Shown when there is more than one copy, or one in progress. */
export function CopiesPanel({ view }: { view: CheckpointView }) {
  const live = useLiveTransfers();
  const moving = [...(live?.values() ?? [])].filter(
    (row) => row.direction === "copy" && row.checkpointId === view.id && !isEnded(row.state),
  );
  if (view.copies.length < 2 && moving.length === 0) return null;
  const whole = view.copies.filter(({ state, damagedAt }) => state === "complete" && damagedAt === null).length;
  return (
    <Panel title="Copies" note={<span className="nums">{`${whole} of ${view.copies.length} whole`}</span>}>
      <ul aria-label="Copies" className="divide-y divide-line">
        {view.copies.map((copy) => (
          <CopyLine key={copy.profileId} copy={copy} view={view} />
        ))}
        {moving.map((row) => (
          <TransferLine key={row.id} row={row} />
        ))}
      </ul>
    </Panel>
  );
}

function CopyLine({ copy, view }: { copy: CopyView; view: CheckpointView }) {
  const whyNot = useWhyNot("operator");
  const verify = useAction(() =>
    hub.checkpoints.verify
      .mutate({ requestId: newRequestId(), checkpointId: view.id, nodeId: null, profileId: copy.profileId })
      .catch((error: unknown) => {
        say("lost", wordsOf(faultOf(error)).says);
        throw error;
      }),
  );
  const state = stateOf(copy);
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5">
      <Tag tone={state.tone}>{state.text}</Tag>
      <span className="font-mid">{visibleText(copy.name)}</span>
      <span className="min-w-0 font-mono text-12 break-all text-soft">{visibleText(copy.location)}</span>
      <Copy text={copy.location} label={`Copy the address in ${visibleText(copy.name)}`} />
      <span className="nums text-12 text-soft">
        {copy.damagedAt !== null ? (
          <>
            found damaged <Age at={copy.damagedAt} />
          </>
        ) : copy.verifiedAt !== null ? (
          <>
            verified <Age at={copy.verifiedAt} />
          </>
        ) : (
          copy.committedAt !== null && (
            <>
              there <Age at={copy.committedAt} />
            </>
          )
        )}
      </span>
      {copy.state === "complete" && (
        <span className="ml-auto">
          <Button
            size="small"
            look="quiet"
            aria-label={`Verify the copy in ${visibleText(copy.name)}`}
            disabled={whyNot !== null || verify.busy}
            title={whyNot ?? undefined}
            onClick={() => verify.run(undefined)}
          >
            Verify
          </Button>
        </span>
      )}
    </li>
  );
}
