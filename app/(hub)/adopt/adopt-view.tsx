"use client";
import { infiniteQueryOptions, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { formatCount } from "#protocol/base/units.ts";
import { mergeRuns, VERDICT_FILTERS } from "../../_adopt/found-runs.ts";
import { useAddressWord } from "../../_hub/address/address.ts";
import { hub } from "../../_hub/queries/client.ts";
import { FaultNote } from "../../_hub/faults/fault-note.tsx";
import { faultOf } from "../../_hub/faults/fault-of.ts";
import { useWhyNot } from "../../_hub/session/person.tsx";
import { profilesQuery } from "../../_hub/queries/queries.ts";
import { PlainSelect } from "../../_ui/controls/plain-select.tsx";
import { Warnings } from "../../_inspect/warnings.tsx";
import { PageHead } from "../../_shell/page-head.tsx";
import { SearchField } from "../../_ui/controls/search-field.tsx";
import { Banner } from "../../_ui/feedback/banner.tsx";
import { Button, ButtonLink } from "../../_ui/controls/button.tsx";
import { FilterWords } from "../../_ui/controls/filter-words.tsx";
import { Empty, Panel } from "../../_ui/layout/panel.tsx";
import { SkeletonRows } from "../../_ui/loading/skeleton.tsx";
import { onItsWay } from "../../_ui/loading/on-demand.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";

// Loaded ahead, because it is shown only after the bucket has answered.
const FoundRun = onItsWay(() => import("../../_adopt/found-run.tsx").then((module) => module.FoundRun));

const first = (): string | null => null;

/** Searches the objects below a prefix for checkpoints, one page at a time. */
const foundQuery = ({ profileId, prefix }: { profileId: string; prefix: string }) =>
  infiniteQueryOptions({
    queryKey: ["checkpoints", "found", profileId, prefix],
    queryFn: ({ pageParam, signal }) =>
      hub.inspect.recognise.query({ profileId, prefix, cursor: pageParam }, { signal }),
    initialPageParam: first(),
    getNextPageParam: (page) => page.cursor,
    retry: false,
    refetchOnWindowFocus: false,
  });

/** Lists checkpoints of other tools in a bucket, and adopts them so that Tidemark can restore them. */
export function AdoptView() {
  const whyNot = useWhyNot("operator");
  const profiles = useQuery(profilesQuery());
  const [chosen, setProfile] = useAddressWord("bucket", "");
  const [prefix, setPrefix] = useAddressWord("prefix", "", "same");
  const [show, setShow] = useAddressWord("show", "all");
  const profile = profiles.data?.find(({ id }) => id === chosen) ?? profiles.data?.[0];
  const profileId = profile?.id ?? "";
  const found = useInfiniteQuery({
    ...foundQuery({ profileId, prefix }),
    enabled: profileId !== "" && whyNot === null,
  });
  const pages = found.data?.pages ?? [];
  const runs = mergeRuns(pages);
  const steps = runs.flatMap((run) => run.steps);
  const adopted = Object.assign({}, ...pages.map((page) => page.adopted)) as Record<string, string>;
  const filter = VERDICT_FILTERS.find(({ id }) => id === show) ?? VERDICT_FILTERS[0];
  const shown = runs
    .map((run) => ({ ...run, steps: run.steps.filter(({ verdict }) => filter.id === "all" || verdict === filter.id) }))
    .filter((run) => run.steps.length > 0);
  if (profiles.data?.length === 0) return <NoBucket />;
  return (
    <>
      <PageHead
        title="Found in the bucket"
        about="Checkpoints that other tools wrote, recognized by the names of their objects. Adopted ones can be restored; their objects stay where they are, and Tidemark never changes or deletes them."
      />
      {whyNot !== null && (
        <Banner tone="quiet" title="Looking through a bucket takes an operator.">
          {whyNot}
        </Banner>
      )}
      <Panel label="Where to look">
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2">
          <div className="w-full sm:w-64">
            <PlainSelect
              label="Bucket"
              value={profile?.id ?? null}
              placeholder="Bucket"
              choices={(profiles.data ?? []).map(({ id, profile: { name, bucket } }) => ({
                value: id,
                label: `${visibleText(name)} (${visibleText(bucket)})`,
              }))}
              onChange={setProfile}
            />
          </div>
          <SearchField
            label="Keys beginning with"
            value={prefix}
            onChange={setPrefix}
            placeholder="Keys beginning with"
          />
          <FilterWords
            label="Show"
            value={filter.id}
            onChange={setShow}
            words={VERDICT_FILTERS.map((one) => ({
              ...one,
              count: one.id === "all" ? steps.length : steps.filter(({ verdict }) => verdict === one.id).length,
            }))}
          />
          {found.data !== undefined && <LookedAt pages={pages} />}
        </div>
        <div className="px-4 empty:hidden">
          <Warnings warnings={pages.flatMap(({ warnings }) => warnings)} />
        </div>
      </Panel>
      {found.isError && <FaultNote fault={faultOf(found.error)} onRetry={() => void found.refetch()} />}
      {found.isPending && whyNot === null && !found.isError && (
        <Panel label="Found">
          <SkeletonRows rows={6} label="Looking through the bucket" />
        </Panel>
      )}
      {found.data !== undefined && shown.length === 0 && (
        <Panel label="Found">
          <Empty title={found.hasNextPage ? "Nothing found so far" : "No checkpoint of another tool"}>
            {steps.length > 0
              ? `${formatCount(steps.length)} were found; none is ${filter.label.toLowerCase()}.`
              : found.hasNextPage
                ? "The bucket has more objects than one search covers."
                : "No object in the bucket is named like a checkpoint of a known tool."}
          </Empty>
        </Panel>
      )}
      {shown.map((run) => (
        <FoundRun
          key={`${profileId} ${run.place}`}
          run={run}
          adopted={adopted}
          at={{ profileId, bucket: profile?.profile.bucket ?? "" }}
        />
      ))}
      {found.hasNextPage && (
        <div>
          <Button disabled={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            {found.isFetchingNextPage ? "Looking" : "Look further"}
          </Button>
        </div>
      )}
    </>
  );
}

type Counts = Record<"objects" | "others" | "own" | "omitted", number>;

/** Shows how many objects were examined, by owner. */
function LookedAt({ pages }: { pages: readonly Counts[] }) {
  const sum = (key: keyof Counts): number => pages.reduce((total, page) => total + page[key], 0);
  return (
    <span className="nums ml-auto text-12 text-faint">
      {formatCount(sum("objects"))} objects looked at, {formatCount(sum("own"))} of them Tidemark's,{" "}
      {formatCount(sum("others"))} no checkpoint's
      {sum("omitted") > 0 && `, ${formatCount(sum("omitted"))} checkpoints left out`}
    </span>
  );
}

function NoBucket() {
  return (
    <>
      <PageHead title="Found in the bucket" />
      <Panel>
        <Empty title="No bucket yet" action={<ButtonLink href="/buckets">Buckets</ButtonLink>}>
          Add a bucket first; then what other tools left in it can be adopted.
        </Empty>
      </Panel>
    </>
  );
}
