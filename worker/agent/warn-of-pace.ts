import { leastIntervalMs } from "#protocol/history/sustain.ts";
import type { ConsoleReporter } from "./console-reporter.ts";
import type { Capture } from "../capture/capture.ts";
import type { Ledger } from "../capture/ledger.ts";
import type { Uplink } from "../capture/uplink.ts";

/** Warns when the run of this capture saves more often than the uplink can carry, as far as both rates are known. */
export function warnOfPace(
  parts: { ledger: Pick<Ledger, "intervalMs">; uplink: Uplink; reporter: Pick<ConsoleReporter, "cannotSustain"> },
  { run, sizeBytes }: Pick<Capture, "run" | "sizeBytes">,
): void {
  const leastMs = leastIntervalMs(sizeBytes, parts.uplink.bytesPerSecond());
  const intervalMs = parts.ledger.intervalMs(run);
  if (leastMs !== null && intervalMs !== null && intervalMs < leastMs) {
    parts.reporter.cannotSustain({ run, intervalMs, leastMs });
  }
}
