"use client";
import { useQuery } from "@tanstack/react-query";
import type { CorsPlanView, CorsRuleView, CorsWriteView } from "#protocol/wire/profiles.ts";
import type { ProfileView } from "#protocol/wire/profile-views.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultDetails, FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { Banner } from "../_ui/feedback/banner.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { classNames } from "../_ui/rendering/class-names.ts";
import { CodeBlock } from "../_ui/layout/code-block.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { Mark } from "../_ui/indicators/mark.tsx";
import { Skeleton } from "../_ui/loading/skeleton.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

/** Shows the planned change of the bucket's CORS rule for these pages, with the button that writes it. */
export function CorsDialog({ view, onClose }: { view: ProfileView; onClose: () => void }) {
  const plan = useQuery({
    queryKey: ["cors", view.id],
    queryFn: () => hub.profiles.corsPlan.mutate({ id: view.id }),
    staleTime: 0,
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
  });
  const write = useAction((digest: string) => hub.profiles.writeCors.mutate({ id: view.id, digest }));
  const shown = write.result?.plan ?? plan.data;
  const isDone = write.result !== undefined && write.fault === null;
  return (
    <Dialog
      open
      onClose={onClose}
      width="wide"
      title={`CORS of ${visibleText(view.profile.name)}`}
      intro="Browsers need a CORS rule of the bucket before these pages may transfer files. The rule allows this address only."
      footer={
        <>
          <span className="flex-1" />
          <Button onClick={onClose}>{isDone || shown?.state !== "to write" ? "Close" : "Leave it as it is"}</Button>
          {shown?.state === "to write" && !isDone && (
            <Button look="main" disabled={write.busy} onClick={() => write.run(shown.digest)}>
              {write.busy ? "Writing" : "Write CORS"}
            </Button>
          )}
        </>
      }
    >
      <div className="flex flex-col gap-3">
        {plan.isError && <FaultNote fault={faultOf(plan.error)} onRetry={() => void plan.refetch()} />}
        {write.fault !== null && (
          <FaultNote
            fault={write.fault}
            onRetry={() => {
              write.reset();
              void plan.refetch();
            }}
          />
        )}
        {shown === undefined && !plan.isError && <Skeleton className="h-40 w-full" />}
        {shown !== undefined && <PlanWords plan={shown} result={write.result} />}
      </div>
    </Dialog>
  );
}

function PlanWords({ plan, result }: { plan: CorsPlanView; result: CorsWriteView | undefined }) {
  if (plan.state === "by hand")
    return (
      <>
        <Banner tone="risk" title="This has to be set by hand.">
          {visibleText(plan.says ?? "")}
        </Banner>
        {plan.pastes.map(({ label, text }) => (
          <section key={label} className="flex flex-col gap-1">
            <h3 className="text-12 text-soft">{label}</h3>
            <CodeBlock text={text} label={`lines for ${label}`} />
          </section>
        ))}
      </>
    );
  const isSame = plan.state === "in place";
  return (
    <>
      {result !== undefined && <WriteWords result={result} />}
      {result === undefined && (
        <p className="text-soft">
          {isSame ? (
            <>
              <Mark tone="safe" className="mr-2 inline-block" />
              {plan.says === null ? (
                <>
                  The bucket already lets <Code text={plan.origin} /> in.
                </>
              ) : (
                visibleText(plan.says)
              )}
            </>
          ) : (
            <>
              This is what changes for <Code text={plan.origin} />.{" "}
              {plan.present.length > plan.removed.length && "Rules of others stay as they are."}
            </>
          )}
        </p>
      )}
      {plan.wanted.length > 0 && plan.says === null && (
        <ul aria-label="CORS rules" className="divide-y divide-line rounded-2 border border-line">
          {plan.removed.map((rule) => (
            <Rule key={`removed ${JSON.stringify(rule)}`} rule={rule} change="removed" />
          ))}
          {plan.wanted.map((rule, index) => (
            <Rule
              key={`${index} ${rule.origins.join(" ")}`}
              rule={rule}
              change={index === 0 && plan.added.length > 0 && result === undefined ? "added" : "kept"}
            />
          ))}
        </ul>
      )}
    </>
  );
}

const Code = ({ text }: { text: string }) => (
  <span className="font-mono text-12 text-ink [overflow-wrap:anywhere]">{visibleText(text)}</span>
);

function WriteWords({ result }: { result: CorsWriteView }) {
  const isAllowed = result.preflights.every((one) => one.isAllowed);
  const isGood = result.isWritten && isAllowed;
  return (
    <>
      <Banner
        tone={isGood ? "safe" : "risk"}
        title={
          isGood
            ? "Written, read back, and confirmed by a browser's preflight request."
            : result.isWritten
              ? "Written, but a browser's preflight request is still refused."
              : "The store took the rule, but reads back something else."
        }
      >
        {!isAllowed &&
          "Some stores need a minute until a rule is known everywhere. Open this again to check once more."}
      </Banner>
      {!isAllowed && (
        <ul className="text-12 text-soft">
          {result.preflights.map(({ method, says, fault }) => (
            <li key={method}>
              <span className="font-mono">{method}</span>: {visibleText(says)}
              {fault !== null && <FaultDetails fault={fault} />}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

const SIGN = { added: "+", removed: "−", kept: " " };
const LOOK = { added: "bg-safe-bg", removed: "bg-lost-bg", kept: "" };
const WORD = { added: "new", removed: "goes", kept: "in place" };

function Rule({ rule, change }: { rule: CorsRuleView; change: keyof typeof SIGN }) {
  const lines = [
    ["methods", rule.methods.join(", ")],
    ["may send", rule.headers.join(", ") || "nothing special"],
    ["may read", rule.exposed.join(", ") || "nothing special"],
  ] as const;
  return (
    <li className={classNames("flex gap-2.5 px-3 py-2", LOOK[change])}>
      <span aria-hidden className="w-3 shrink-0 font-mono text-12">
        {SIGN[change]}
      </span>
      <div className="min-w-0 flex-1">
        <div className="flex gap-3">
          <span className="min-w-0 flex-1 font-mono text-12 [overflow-wrap:anywhere]">
            {visibleText(rule.origins.join(", "))}
          </span>
          <span className="shrink-0 text-12 text-soft">{WORD[change]}</span>
        </div>
        <dl className="mt-1 grid gap-x-3 text-12 sm:grid-cols-[72px_minmax(0,1fr)]">
          {lines.map(([name, text]) => (
            <div key={name} className="contents">
              <dt className="text-soft max-sm:pt-1">{name}</dt>
              <dd className="[overflow-wrap:anywhere]">{visibleText(text)}</dd>
            </div>
          ))}
        </dl>
      </div>
    </li>
  );
}
