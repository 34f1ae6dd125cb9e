import { formatDuration } from "#protocol/base/units.ts";
import type { FaultData } from "#protocol/faults/fault.ts";
import type { ProfileCheck, ProfileTestView } from "#protocol/wire/profile-views.ts";
import { FaultDetails } from "../_hub/faults/fault-note.tsx";
import { wordsOf } from "../_hub/faults/fault-of.ts";
import { Banner } from "../_ui/feedback/banner.tsx";
import { Mark, type Tone } from "../_ui/indicators/mark.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

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

/** Returns the message of a fault without its object key, which is shown beside it or was made up by the test. */
const saysOf = (fault: FaultData): string => visibleText(wordsOf({ ...fault, subject: undefined }).says);

/** Shows the store's error code and HTTP status where the message does not contain them. */
function RawAnswer({ check, says }: { check: ProfileCheck; says: string }) {
  const code = check.rawCode === null ? null : visibleText(check.rawCode);
  const parts = [
    ...(code === null || says.includes(code) ? [] : [code]),
    ...(check.httpStatus === null ? [] : [`HTTP ${check.httpStatus}`]),
  ];
  return parts.length > 0 && <span className="font-mono text-faint"> {parts.join(" · ")}</span>;
}

/** Lists objects and uploads that the test could not remove, so that somebody can. */
function LeftBehindNote({ left }: { left: ProfileTestView["leftBehind"] }) {
  const count = left.length === 1 ? "One thing" : `${left.length} things`;
  const reasons = [...new Set(left.map(({ fault }) => saysOf(fault)))];
  return (
    <Banner tone="risk" title={`${count} this test wrote could not be removed.`}>
      Remove them by hand, or give the key s3:DeleteObject and s3:AbortMultipartUpload and test again.
      {reasons.map((reason) => (
        <div key={reason} className="mt-1 text-12">
          {reason}
          <ul>
            {left
              .filter(({ fault }) => saysOf(fault) === reason)
              .map(({ kind, key, uploadId }) => (
                <li key={`${key} ${uploadId ?? ""}`}>
                  <span className="font-mono [overflow-wrap:anywhere]">{visibleText(key)}</span>
                  {kind === "upload" && " (unfinished upload)"}
                </li>
              ))}
          </ul>
        </div>
      ))}
    </Banner>
  );
}

/** Shows each operation that the product needs, the store's answer, and the features that lack it. */
export function TestResult({ result }: { result: ProfileTestView }) {
  const bad = result.checks.filter(
    ({ operation, outcome }) => (outcome === "refused" || outcome === "failed") && operation !== "Clock",
  );
  // With a refused key the other operations say nothing.
  const keyFault = bad.find(({ fault }) => fault?.code === "BAD_CREDENTIALS")?.fault ?? null;
  const shown = keyFault === null ? result.checks : result.checks.filter(({ outcome }) => outcome === "ok");
  const missing = [...new Set(bad.map((check) => check.missingAction).filter((action) => action !== null))];
  return (
    <output className="flex flex-col gap-2" aria-label="Test result">
      <Banner
        tone={result.ok ? "safe" : "lost"}
        title={
          result.ok
            ? "Everything Tidemark needs works."
            : keyFault !== null
              ? "The key was refused."
              : `${bad.length === 1 ? "One operation does" : `${bad.length} operations do`} not work.`
        }
      >
        {keyFault !== null && (
          <>
            {saysOf(keyFault)} {wordsOf(keyFault).next} Nothing else was tried.
            <FaultDetails fault={keyFault} />
          </>
        )}
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
      {result.leftBehind.length > 0 && <LeftBehindNote left={result.leftBehind} />}
      <ul aria-label="Operations" className="divide-y divide-line rounded-2 border border-line empty:hidden">
        {shown.map((check) => (
          <li key={check.operation} className="flex items-start gap-2.5 px-3 py-1.5">
            <Mark tone={TONE[check.outcome]} className="mt-[5px]" />
            <div className="min-w-0 flex-1">
              <span className="font-mono text-12">{visibleText(check.operation)}</span>{" "}
              <span className="text-faint">{visibleText(check.neededFor)}</span>
              {check.note !== null && <div className="text-12 text-soft">{visibleText(check.note)}</div>}
              {check.missingAction !== null && (
                <div className="text-12">
                  Needs <span className="font-mono [overflow-wrap:anywhere]">{visibleText(check.missingAction)}</span>.
                </div>
              )}
              {check.outcome !== "ok" && check.fault !== null && (
                <div className="text-12 text-soft">
                  {saysOf(check.fault)}
                  <RawAnswer check={check} says={saysOf(check.fault)} />
                  <FaultDetails fault={check.fault} />
                </div>
              )}
            </div>
            <span className="nums max-w-[45%] shrink-0 text-right text-12 leading-5 text-soft">
              {WORD[check.outcome]}
              {check.skippedBecause !== null && <> · {visibleText(check.skippedBecause)} failed</>}
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
