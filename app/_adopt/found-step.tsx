"use client";
import { Link } from "../_ui/navigation/link.tsx";
import { useState } from "react";
import type { RecognisedStep, Verdict } from "#protocol/recognition/recognise.ts";
import { formatCount } from "#protocol/base/units.ts";
import { Age } from "../_hub/live/age.tsx";
import { hub } from "../_hub/queries/client.ts";
import { wordsOf } from "../_hub/faults/fault-of.ts";
import { useWhyNot } from "../_hub/session/person.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { TextInput } from "../_ui/controls/text-input.tsx";
import type { Tone } from "../_ui/indicators/mark.tsx";
import { Cell, Row } from "../_ui/tables/table.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

const TONES: Record<Verdict, Tone> = { "assumed complete": "quiet", incomplete: "risk", unknown: "quiet" };

interface FoundStepProps {
  found: RecognisedStep;
  /** Folder of the run, which the shown name leaves out. */
  inside: string;
  checkpointId: string | null;
  /** Profile and run to adopt into; null while the run name is invalid. */
  into: { profileId: string; run: string } | null;
}

/** Shows one checkpoint of another tool, the verdict with its reason, and the button that adopts it. */
export function FoundStep({ found, inside, checkpointId, into }: FoundStepProps) {
  const { place, kind, step, verdict } = found;
  const whyNot = useWhyNot("operator");
  const [typed, setTyped] = useState("0");
  const chosen = step ?? (/^\d{1,12}$/.test(typed) ? Number(typed) : null);
  const adopt = useAction(async () => {
    if (into === null || chosen === null) return null;
    return hub.adoptions.adopt.mutate({ ...into, place, kind, step: chosen, verdict });
  });
  const known = checkpointId ?? adopt.result?.checkpointId ?? null;
  const name = visibleText(place.slice(inside.length));
  const refused = whyNot ?? (verdict === "incomplete" ? `Incomplete: ${found.reason}.` : null);
  const why =
    adopt.fault === null ? (
      visibleText(found.reason)
    ) : (
      <span className="text-lost">{visibleText(wordsOf(adopt.fault).says)}</span>
    );
  return (
    <Row>
      <Cell className="nums">
        {step === null && known === null ? (
          <div className="w-20">
            <TextInput
              aria-label={`Step of ${name}`}
              inputMode="numeric"
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          </div>
        ) : (
          formatCount(step ?? chosen ?? 0)
        )}
        <div className="max-w-36 truncate font-mono text-11 text-faint" title={visibleText(place)}>
          {name}
        </div>
        <div className="sm:hidden">
          <Tag tone={TONES[verdict]}>{verdict}</Tag>
        </div>
        <div className="text-12 text-soft md:hidden">{why}</div>
      </Cell>
      <Cell from="sm">
        <Tag tone={TONES[verdict]}>{verdict}</Tag>
      </Cell>
      <Cell from="md" className="w-full max-w-0 text-soft">
        <span className="line-clamp-2" title={visibleText(found.reason)}>
          {why}
        </span>
      </Cell>
      <Cell from="lg" className="text-soft">
        {found.framework ?? "–"}
      </Cell>
      <Cell from="sm" align="right">
        {formatBytes(found.sizeBytes)}
        <div className="text-11 text-faint">
          {formatCount(found.files)} {found.files === 1 ? "file" : "files"}
        </div>
      </Cell>
      <Cell from="lg" align="right" className="text-soft">
        <Age at={found.newestAt} suffix="" />
      </Cell>
      <Cell align="right">
        {known === null ? (
          <Button
            size="small"
            aria-label={`Adopt ${name}`}
            disabled={refused !== null || into === null || chosen === null || adopt.busy}
            title={refused ?? undefined}
            onClick={() => adopt.run(undefined)}
          >
            {adopt.busy ? "Adopting" : verdict === "unknown" ? "Adopt anyway" : "Adopt"}
          </Button>
        ) : (
          <Link href={`/checkpoints/${encodeURIComponent(known)}`} className="font-mid hover:underline">
            adopted
          </Link>
        )}
      </Cell>
    </Row>
  );
}
