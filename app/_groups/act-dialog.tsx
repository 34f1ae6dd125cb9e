"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { hasUnsafe } from "#protocol/groups/deletion-cost.ts";
import type { ActAnswer, InstanceAction, InstanceLoss } from "#protocol/groups/groups.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { hub } from "../_hub/queries/client.ts";
import { Button } from "../_ui/controls/button.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { ACTION_WORDS, instancesWords, lossWords, stakeWords } from "./group-words.ts";

interface ActDialogProps {
  accountId: string;
  group: string;
  asked: { action: InstanceAction; instanceIds: string[] | null };
  onClose: () => void;
}

/** Shows what an action on instances would lose, and asks before it is done. */
export function ActDialog({ accountId, group, asked, onClose }: ActDialogProps) {
  const client = useQueryClient();
  const { action, instanceIds } = asked;
  const words = ACTION_WORDS[action];
  const input = { accountId, group, action, instanceIds };
  const effect = useQuery({
    queryKey: ["groups", "effect", input],
    queryFn: () => hub.groups.act.mutate({ ...input, dryRun: true }),
    staleTime: 0,
    refetchInterval: false,
  });
  const losses = effect.data?.losses ?? [];
  const unsafe = losses.filter(({ stake }) => hasUnsafe(stake));
  const act = useAction(() => hub.groups.act.mutate({ ...input, mayLose: unsafe.map(({ instanceId }) => instanceId) }));
  const found = effect.data?.found ?? 0;
  const mayDo = found - (effect.data?.left ?? 0);
  const onDone = (answer: ActAnswer) => {
    void client.invalidateQueries({ queryKey: ["groups"] });
    // Instances that became unsafe meanwhile are shown, and confirmed again.
    if (answer.isRefused || answer.faults.length > 0) return;
    const left =
      answer.left === 0 ? "" : ` ${instancesWords(answer.left)} ${answer.left === 1 ? "stays" : "stay"} as before.`;
    say("quiet", `${instancesWords(answer.done)} ${answer.done === 1 ? "is" : "are"} ${words.done}.${left}`);
    onClose();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={found === 0 ? `${words.verb} instances` : `${words.verb} ${instancesWords(found)}?`}
      intro={words.effect}
      footer={
        <>
          <span className="flex-1" />
          <Button onClick={onClose}>Keep {found === 1 ? "it" : "them"}</Button>
          <Button
            look={unsafe.length > 0 ? "danger" : "main"}
            disabled={act.busy || mayDo === 0}
            onClick={() => act.run(undefined, onDone)}
          >
            {act.busy ? words.busy : unsafe.length > 0 ? `${words.verb} and lose it` : words.verb}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        {effect.data !== undefined ? (
          <Effect answer={effect.data} unsafe={unsafe} />
        ) : effect.isError ? (
          <QueryFault query={effect} />
        ) : (
          <SkeletonRows rows={2} label="Reading what would be lost" />
        )}
        {act.result?.isRefused === true && (
          <p role="alert" className="text-risk">
            Nothing was done: more would be lost now than was shown. Read it again.
          </p>
        )}
        {act.result?.faults.map(({ instanceId, fault }) => (
          <FaultNote key={instanceId} fault={fault} />
        ))}
        {act.fault !== null && <FaultNote fault={act.fault} />}
      </div>
    </Dialog>
  );
}

function Effect({ answer: { losses, left }, unsafe }: { answer: ActAnswer; unsafe: readonly InstanceLoss[] }) {
  const others = losses.filter((loss) => !unsafe.includes(loss));
  return (
    <>
      {unsafe.length === 0 ? (
        <p>Nothing would be lost: all that its programs wrote is safe.</p>
      ) : (
        <>
          <p>This would be lost:</p>
          <ul className="flex flex-col gap-1" aria-label="What would be lost">
            {unsafe.map((loss) => (
              <li key={loss.instanceId}>
                <b className="font-mid">{placeOf(loss)}</b>:{" "}
                {loss.stake.leases > 0 ? stakeWords(loss.stake) : lossWords(loss.stake)}
              </li>
            ))}
          </ul>
        </>
      )}
      {others.length > 0 && (
        <p className="nums text-soft">
          {instancesWords(others.length)} {others.length === 1 ? "works" : "work"} on jobs. They are interrupted and go
          on elsewhere.
        </p>
      )}
      {left > 0 && (
        <p className="nums text-soft">
          The provider takes only so many in a minute: {instancesWords(left)} {left === 1 ? "stays" : "stay"} as they
          are.
        </p>
      )}
    </>
  );
}

const placeOf = ({ nodes, machineId }: InstanceLoss): string =>
  nodes.length === 0 ? visibleText(machineId) : nodes.map(({ name }) => visibleText(name)).join(", ");
