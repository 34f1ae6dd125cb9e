"use client";
import { formatDuration } from "#protocol/base/units.ts";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import { useHubNow } from "../_hub/live/live.tsx";

/** Shows `verified 3 h ago` when every byte was read back and matched. */
export function VerifiedNote({ row }: { row: Pick<CheckpointRow, "verifiedAt" | "damage"> }) {
  const now = useHubNow(10_000);
  if (row.verifiedAt === null || row.damage !== null || now === 0) return null;
  const passed = Math.max(0, now - row.verifiedAt);
  return <span className="nums text-soft">verified {passed < 5_000 ? "now" : `${formatDuration(passed)} ago`}</span>;
}
