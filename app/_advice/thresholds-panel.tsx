"use client";
import { keepPreviousData, queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useMemo, useState } from "react";
import { NO_THRESHOLDS, type LinkThresholds } from "#protocol/links/probe.ts";
import { replayStarts } from "#protocol/links/replay-thresholds.ts";
import { sumFates } from "#protocol/links/sum-fates.ts";
import { toReplay, type FleetThresholds, type StartsAnswer, type StartsInput } from "#protocol/links/thresholds.ts";
import { formatCount } from "#protocol/base/units.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { Age } from "../_hub/live/age.tsx";
import { useRate } from "../_hub/preferences/choices.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { useWhyNot } from "../_hub/session/person.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { useTakeBack } from "../_hub/actions/use-take-back.ts";
import { Banner } from "../_ui/feedback/banner.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { TextInput } from "../_ui/controls/text-input.tsx";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { Empty, Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { ReplaySumTable } from "./replay-sum.tsx";
import { isSame, thresholdWords } from "./replay-words.ts";
import { StartsTable } from "./starts-table.tsx";
import { countPlaces, placeOfRate, placeOfRtt, rateAt, RATE_PLACES, rttAt, RTT_PLACES } from "./threshold-scale.ts";
import { ThresholdSlider } from "./threshold-slider.tsx";

const OVERS: readonly { id: string; label: string; over: StartsInput["over"] }[] = [
  { id: "50", label: "50 nodes", over: { of: "nodes", most: 50 } },
  { id: "200", label: "200 nodes", over: { of: "nodes", most: 200 } },
  { id: "all", label: "All nodes", over: { of: "nodes", most: 10_000 } },
  { id: "1d", label: "1 d", over: { of: "days", days: 1 } },
  { id: "7d", label: "7 d", over: { of: "days", days: 7 } },
  { id: "30d", label: "30 d", over: { of: "days", days: 30 } },
];
const MINUTE_MS = 60_000;

const startsQuery = (over: StartsInput["over"], id: string) =>
  queryOptions({
    queryKey: ["thresholds", id],
    queryFn: () => hub.thresholds.starts.query({ over, profileId: null }),
    staleTime: MINUTE_MS,
  });

/** Shows what other thresholds would have done to the stored measurements, with a button that applies them. */
export function ThresholdsPanel() {
  const [word, setWord] = useAddressWord("over", "200");
  const chosen = OVERS.find(({ id }) => id === word) ?? OVERS[1];
  const found = useQuery({
    ...startsQuery(chosen?.over ?? { of: "nodes", most: 200 }, word),
    placeholderData: keepPreviousData,
  });
  const { data } = found;
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-wrap items-center gap-3 text-soft">
        <span>The last</span>
        <FilterWords label="Measurements of" words={OVERS} value={chosen?.id ?? "200"} onChange={setWord} />
        {data?.isCut === true && <span className="nums">only the newest {formatCount(data.rows.length)}</span>}
      </div>
      {data === undefined && found.isError ? (
        <FaultNote fault={faultOf(found.error)} onRetry={() => void found.refetch()} />
      ) : data === undefined ? (
        <Panel>
          <SkeletonRows rows={6} label="Loading measurements" />
        </Panel>
      ) : (
        <Simulator answer={data} />
      )}
    </div>
  );
}

/** Returns the thresholds that differ. */
const changesOf = (wanted: LinkThresholds, present: LinkThresholds): Partial<LinkThresholds> => ({
  ...(wanted.up !== present.up && { up: wanted.up }),
  ...(wanted.down !== present.down && { down: wanted.down }),
  ...(wanted.rttMs !== present.rttMs && { rttMs: wanted.rttMs }),
});

function Simulator({ answer }: { answer: StartsAnswer }) {
  const { now: asked } = answer;
  const { up: nowUp, down: nowDown, rttMs: nowRttMs } = asked;
  const present = useMemo(
    (): LinkThresholds => ({ ...NO_THRESHOLDS, up: nowUp, down: nowDown, rttMs: nowRttMs }),
    [nowUp, nowDown, nowRttMs],
  );
  // The thresholds that were moved. They stay when somebody else applies thresholds meanwhile, and the others follow.
  const [changed, setChanged] = useState<Partial<LinkThresholds>>({});
  const wanted = useMemo((): LinkThresholds => ({ ...present, ...changed }), [present, changed]);
  if (Object.keys(changed).length > 0 && isSame(wanted, asked)) setChanged({});
  const move = (part: Partial<LinkThresholds>) => setChanged(changesOf({ ...wanted, ...part }, present));
  const [startMinutes, setStartMinutes] = useState("10");
  const { starts, earlier } = useMemo(() => toReplay(answer), [answer]);
  const about = {
    excludeMs: answer.limits.excludeMs,
    startMs: (/^\d{1,4}$/.test(startMinutes) ? Number(startMinutes) : 0) * MINUTE_MS,
  };
  const now = useMemo(() => {
    const { up, down, rttMs } = answer.now;
    return replayStarts(starts, { limits: answer.limits, earlier, thresholds: { up, down, rttMs } });
  }, [starts, earlier, answer]);
  // Deferred, so that the slider stays responsive while the tables update at the page's own pace.
  const settled = useDeferredValue(wanted);
  const then = useMemo(
    () => replayStarts(starts, { limits: answer.limits, earlier, thresholds: settled }),
    [starts, earlier, answer.limits, settled],
  );
  const values = useMemo(
    () => ({
      up: countRates(starts.map(({ link }) => link.up)),
      down: countRates(starts.map(({ link }) => link.down)),
      rtt: countPlaces(
        starts.map(({ link }) => link.rttMs),
        { placeOf: placeOfRtt, first: 1, last: RTT_PLACES - 1 },
      ),
    }),
    [starts],
  );
  const rate = useRate();
  const rateSlider = (way: "up" | "down", label: string) => {
    const at = placeOfRate(wanted[way]);
    return (
      <ThresholdSlider
        label={label}
        first={0}
        last={RATE_PLACES}
        place={at}
        words={wanted[way] === null ? "not asked for" : rate(wanted[way])}
        counts={values[way]}
        isRefused={(place) => place < at}
        onChange={(place) => move({ [way]: rateAt(place) })}
      />
    );
  };
  const rttPlace = placeOfRtt(wanted.rttMs);
  return (
    <>
      <Panel label="Thresholds" title="Thresholds for every link" note={<SourceWords asked={asked} />}>
        <div className="grid gap-x-8 gap-y-5 px-4 py-4 md:grid-cols-3">
          {rateSlider("up", "Minimum upload")}
          {rateSlider("down", "Minimum download")}
          <ThresholdSlider
            label="Maximum round trip"
            first={1}
            last={RTT_PLACES}
            place={rttPlace}
            words={wanted.rttMs === null ? "any" : `${Math.round(wanted.rttMs)} ms`}
            counts={values.rtt}
            isRefused={(place) => place > rttPlace}
            onChange={(place) => move({ rttMs: rttAt(place) })}
          />
        </div>
        <ApplyLine wanted={wanted} asked={asked} onReset={() => setChanged({})} />
      </Panel>
      {starts.length === 0 ? (
        <Panel>
          <Empty title="Nothing was measured yet">
            A node measures its link at its start where a threshold is asked for, and when it is ordered to (Nodes, Send
            command, Measure). The results are listed here.
          </Empty>
        </Panel>
      ) : (
        <>
          <Panel
            label="Replay"
            title={`${formatCount(starts.length)} measurements, replayed`}
            note={`the budget of ${answer.limits.perHour} an hour, pauses, the comparison with other nodes and the memory of machines are those of the hub`}
          >
            <ReplaySumTable now={sumFates(starts, now, about)} then={sumFates(starts, then, about)} />
            <div className="flex flex-wrap items-center gap-2 border-t border-line px-4 py-2.5 text-soft">
              <label htmlFor="start-minutes">A node that starts again works after</label>
              <div className="w-16">
                <TextInput
                  id="start-minutes"
                  inputMode="numeric"
                  value={startMinutes}
                  onChange={(event) => setStartMinutes(event.target.value)}
                />
              </div>
              min (half of a SaladCloud group is online after 10).
            </div>
          </Panel>
          <StartsTable answer={answer} starts={starts} now={now} then={then} />
        </>
      )}
    </>
  );
}

const countRates = (values: readonly (number | null)[]): number[] =>
  countPlaces(values, { placeOf: placeOfRate, first: 1, last: RATE_PLACES });

function SourceWords({ asked }: { asked: FleetThresholds }) {
  const rate = useRate();
  const words = thresholdWords(asked, rate);
  if (asked.setAt === null) return "nothing is asked for here; nodes go by their own flags";
  return (
    <span className="nums">
      now {words ?? "nothing"}, set by {visibleName(asked.setBy)} <Age at={asked.setAt} />
    </span>
  );
}

const visibleName = (name: string | null): string => name ?? "somebody";

interface ApplyLineProps {
  wanted: LinkThresholds;
  asked: FleetThresholds;
  onReset: () => void;
}

function ApplyLine({ wanted, asked, onReset }: ApplyLineProps) {
  const whyNot = useWhyNot("operator");
  const rate = useRate();
  const client = useQueryClient();
  const same = isSame(wanted, asked);
  const takeBack = useTakeBack("thresholds");
  const save = useAction(() => hub.thresholds.set.mutate({ thresholds: wanted, version: asked.version }));
  return (
    <div className="flex flex-col gap-3 border-t border-line px-4 py-3">
      <div className="flex flex-wrap items-center gap-3">
        <Button
          look="main"
          disabled={same || save.busy || whyNot !== null}
          title={whyNot ?? undefined}
          onClick={() =>
            save.run(undefined, ({ version }) => {
              void client.invalidateQueries({ queryKey: ["thresholds"] });
              const { up, down, rttMs } = asked;
              const back = () => hub.thresholds.set.mutate({ thresholds: { up, down, rttMs }, version });
              const says = (of: LinkThresholds) =>
                `Every node that starts is asked for ${thresholdWords(of, rate) ?? "nothing"}`;
              say("safe", `${says(wanted)}.`, takeBack(back, `${says(asked)} again.`));
            })
          }
        >
          {save.busy ? "Saving" : "Ask this of every node"}
        </Button>
        {!same && (
          <Button look="quiet" onClick={onReset}>
            As it is now
          </Button>
        )}
        <span className="min-w-0 flex-1 basis-60 text-12 text-faint">
          Counts for nodes that start from then on. A node&apos;s own --min-up, --min-down and --max-rtt go before it.
        </span>
      </div>
      {save.fault !== null &&
        (save.fault.code === "CONFLICT" ? (
          <Banner
            tone="risk"
            title="Somebody changed the thresholds meanwhile."
            action={
              <Button onClick={() => void client.invalidateQueries({ queryKey: ["thresholds"] }).then(save.reset)}>
                Look again
              </Button>
            }
          />
        ) : (
          <FaultNote fault={save.fault} />
        ))}
    </div>
  );
}
