"use client";
import { stepTitle, stepWords } from "#protocol/checkpoint/step-words.ts";
import { useQueryClient } from "@tanstack/react-query";
import { Undo2 } from "lucide-react";
import { Link } from "../_ui/navigation/link.tsx";
import type { TrashRow } from "#protocol/retention/keeping.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { Age } from "../_hub/live/age.tsx";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { useHubNow } from "../_hub/live/live.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

/** Returns how long a checkpoint can still be restored from the trash. */
export function leftWords(row: Pick<TrashRow, "until" | "isBeingDeleted">, now: number): string {
  if (row.isBeingDeleted) return "being deleted";
  if (now >= row.until) return "deleted at the hub's next look";
  return `${formatDuration(row.until - now)} left`;
}

/** Shows one checkpoint in the trash, the time left, and the button that restores it. */
export function TrashLine({ row }: { row: TrashRow }) {
  const client = useQueryClient();
  const now = useHubNow(10_000);
  const whyNot = useWhyNot("operator");
  const back = useAction(() => hub.checkpoints.bringBack.mutate({ id: row.checkpointId }));
  const step = stepWords(row.step);
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
      <div className="nums min-w-0 flex-1 basis-48">
        <Link href={`/checkpoints/${encodeURIComponent(row.checkpointId)}`} className="font-mid hover:underline">
          {step}
        </Link>{" "}
        <span className="text-soft">
          {formatBytes(row.sizeBytes)}, {now === 0 ? "" : leftWords(row, now)}
        </span>
        <div className="text-12 text-faint">
          moved <Age at={row.at} /> {visibleText(row.why)}
        </div>
      </div>
      <Button
        size="small"
        aria-label={`Bring ${step} back`}
        disabled={whyNot !== null || back.busy || row.isBeingDeleted}
        title={whyNot ?? (row.isBeingDeleted ? "Its deletion has begun." : undefined)}
        onClick={() =>
          back.run(undefined, () => {
            void client.invalidateQueries({ queryKey: ["runs"] });
            void client.invalidateQueries({ queryKey: ["checkpoints"] });
            say("safe", `${stepTitle(row.step)} is back.`);
          })
        }
      >
        <Undo2 size={13} aria-hidden />
        Undo
      </Button>
      {back.fault !== null && <FaultNote fault={back.fault} />}
      {row.fault !== null && <FaultNote fault={row.fault} />}
    </li>
  );
}
