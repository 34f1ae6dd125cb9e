"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Advice } from "#protocol/alerts/advice.ts";
import { useRate } from "../_hub/preferences/choices.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button, ButtonLink } from "../_ui/controls/button.tsx";
import { Mark } from "../_ui/indicators/mark.tsx";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { adviceTitle, adviceTodo, adviceTone, betterWords, factWords, sampleWords } from "./advice-words.ts";
import { shortDay } from "../_ui/text/times.ts";

const DismissForm = onDemand(() => import("./dismiss-form.tsx").then((module) => module.DismissForm));

/** Shows one piece of advice: the finding, what to do, and the samples it is based on. */
export function AdviceItem({ advice, place }: { advice: Advice; place: "fleet" | "node" }) {
  const rate = useRate();
  const client = useQueryClient();
  const whyNot = useWhyNot("operator");
  const [dismissing, setDismissing] = useState(false);
  const again = () => void client.invalidateQueries({ queryKey: ["advice"] });
  const bringBack = useAction(() => hub.advice.bringBack.mutate({ key: advice.key }));
  const take = useAction(() => hub.advice.take.mutate({ key: advice.key }));
  const mayNotTake = useWhyNot("admin");
  const { dismissal } = advice;
  return (
    <li className="border-b border-line px-4 py-3 last:border-b-0">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="flex min-w-0 flex-1 basis-72 gap-3">
          <Mark tone={dismissal === null ? adviceTone(advice.kind) : "quiet"} className="mt-[5px]" />
          <div className="min-w-0">
            <p className="font-mid break-words">{adviceTitle(advice)}</p>
            {dismissal === null ? (
              <p className="text-soft">{adviceTodo(advice.kind)}</p>
            ) : (
              <p className="text-soft">
                Dismissed by {visibleText(dismissal.by)}: {visibleText(dismissal.reason)}
                {dismissal.until === null ? ", for good." : `, until ${shortDay(dismissal.until)}.`}
              </p>
            )}
            <p className="nums mt-0.5 text-12 text-faint">
              {advice.facts.map((fact) => `${fact.label} ${factWords(fact, rate)}`).join(" · ")} · {sampleWords(advice)}
            </p>
          </div>
        </div>
        <div className="flex flex-wrap gap-1.5 max-sm:pl-3.5">
          {dismissal === null && advice.better !== null && (
            <Button
              size="small"
              disabled={mayNotTake !== null || take.busy}
              title={mayNotTake ?? undefined}
              onClick={() =>
                take.run(undefined, () => {
                  say("safe", `Nodes of this bucket will use ${betterWords(advice)}.`);
                  again();
                })
              }
            >
              {take.busy ? "Setting" : `Set ${betterWords(advice)}`}
            </Button>
          )}
          {place === "fleet" && advice.node !== null && (
            <ButtonLink size="small" look="quiet" href={`/nodes/${advice.node}`}>
              Node
            </ButtonLink>
          )}
          {dismissal === null ? (
            !dismissing && (
              <Button
                size="small"
                look="quiet"
                disabled={whyNot !== null}
                title={whyNot ?? undefined}
                onClick={() => setDismissing(true)}
              >
                Dismiss…
              </Button>
            )
          ) : (
            <Button
              size="small"
              look="quiet"
              disabled={whyNot !== null || bringBack.busy}
              title={whyNot ?? undefined}
              onClick={() => bringBack.run(undefined, again)}
            >
              Bring back
            </Button>
          )}
        </div>
      </div>
      {dismissing && dismissal === null && (
        <DismissForm
          adviceKey={advice.key}
          onCancel={() => setDismissing(false)}
          onDone={() => {
            setDismissing(false);
            again();
          }}
        />
      )}
      {bringBack.fault !== null && <FaultNote fault={bringBack.fault} />}
      {take.fault !== null && <FaultNote fault={take.fault} />}
    </li>
  );
}
