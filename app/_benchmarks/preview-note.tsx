"use client";
import { ENGINES } from "#protocol/benchmarks/engines.ts";
import type { BenchPreview } from "#protocol/benchmarks/views.ts";
import { formatCount } from "#protocol/base/units.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

/** Shows how much a benchmark would transfer and cost before it starts. */
export function PreviewNote({ plan, error }: { plan: BenchPreview | null; error: unknown }) {
  if (error !== null && error !== undefined) return <FaultNote fault={faultOf(error)} />;
  if (plan === null) return null;
  const costs = plan.buckets.flatMap(({ cost }) => (cost === null ? [] : [cost]));
  const sum = costs.reduce((all, { total }) => all + total, 0);
  const currency = costs[0]?.currency ?? "USD";
  const words =
    costs.length === 0
      ? "what it costs is not known"
      : `about ${sum.toFixed(2)} ${currency} by list price${costs.length < plan.buckets.length ? ", of the buckets whose price is known" : ""}`;
  return (
    <output aria-label="What it would be" className="block rounded-2 border border-line bg-sunk px-4 py-3">
      <p>
        <b className="font-mid">
          {formatCount(plan.nodes.length)} {plan.nodes.length === 1 ? "node" : "nodes"}, {formatCount(plan.cases)} cases
        </b>
        : {formatBytes(plan.upBytes)} up, {formatBytes(plan.downBytes)} down; {words}.
      </p>
      {plan.buckets
        .filter(({ withoutKey }) => withoutKey.length > 0)
        .map(({ profileId, name, withoutKey }) => (
          <p key={profileId} className="mt-1 text-soft">
            Not at {visibleText(name)}, which has no benchmark key:{" "}
            {withoutKey.map((engine) => ENGINES[engine].title).join(", ")}.
          </p>
        ))}
    </output>
  );
}
