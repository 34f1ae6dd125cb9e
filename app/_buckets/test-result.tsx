import { formatDuration } from "#protocol/units.ts";
import type { ProfileCheck, ProfileTestView } from "#protocol/views.ts";
import { FaultDetails } from "../_hub/fault-note.tsx";
import { wordsOf } from "../_hub/fault-of.ts";
import { Banner } from "../_ui/banner.tsx";
import { Mark, type Tone } from "../_ui/mark.tsx";
import { visibleText } from "../_ui/visible-text.ts";

const TONE: Record<ProfileCheck["outcome"], Tone> = {
  ok: "safe",
  refused: "lost",
  unsupported: "risk",
  failed: "lost",
  skipped: "quiet",
};
const WORD: Record<ProfileCheck["outcome"], string> = {
  ok: "works",
  refused: "refused",
  unsupported: "not supported",
  failed: "failed",
  skipped: "not tried",
};
const MUCH_SKEW_MS = 60_000;

/** Each operation the product needs, what the store said, and which feature goes without it. */
export function TestResult({ result }: { result: ProfileTestView }) {
  const bad = result.checks.filter((check) => check.outcome === "refused" || check.outcome === "failed");
  const missing = [...new Set(bad.map((check) => check.missingAction).filter((action) => action !== null))];
  return (
    <output className="flex flex-col gap-2" aria-label="Test result">
      <Banner
        tone={result.ok ? "safe" : "lost"}
        title={
          result.ok
            ? "Everything Tidemark needs works."
            : `${bad.length === 1 ? "One operation does" : `${bad.length} operations do`} not work.`
        }
      >
        {missing.length > 0 && (
          <>
            Give the key <span className="font-mono text-12">{missing.map(visibleText).join(", ")}</span>.
          </>
        )}
      </Banner>
      {result.clockSkewMs !== null && Math.abs(result.clockSkewMs) > MUCH_SKEW_MS && (
        <Banner
          tone="risk"
          title={`The hub's clock is ${formatDuration(Math.abs(result.clockSkewMs))} off the store's.`}
        >
          Set it, for example with NTP; stores refuse requests signed too far from their own time.
        </Banner>
      )}
      <ul className="divide-y divide-line rounded-2 border border-line">
        {result.checks.map((check) => (
          <li key={check.operation} className="flex items-start gap-2.5 px-3 py-1.5">
            <Mark tone={TONE[check.outcome]} className="mt-[5px]" />
            <div className="min-w-0 flex-1">
              <span className="font-mono text-12">{visibleText(check.operation)}</span>{" "}
              <span className="text-faint">{visibleText(check.neededFor)}</span>
              {check.outcome !== "ok" && check.fault !== null && (
                <div className="text-12 text-soft">
                  {visibleText(wordsOf(check.fault).says)}
                  <FaultDetails fault={check.fault} />
                </div>
              )}
            </div>
            <span className="nums shrink-0 text-12 text-soft">
              {WORD[check.outcome]}
              {check.missingAction !== null && <> · needs {visibleText(check.missingAction)}</>}
              {check.outcome === "ok" && check.tookMs !== null && (
                <span className="text-faint"> · {Math.round(check.tookMs)} ms</span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </output>
  );
}
