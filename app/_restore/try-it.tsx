"use client";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { formatCount } from "#protocol/base/units.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { newRequestId, useAction } from "../_hub/actions/use-action.ts";
import { Banner } from "../_ui/feedback/banner.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { formatBytes } from "../_ui/text/sizes.ts";
import type { AskedChoice } from "./restore-choice.ts";

interface TryItProps {
  checkpointId: string;
  nodeId: string;
  nodeName: string;
  targetPath: string;
  choice: AskedChoice;
  disabled: boolean;
}

const LOOK_MS = 500;

/** Asks the node for a dry run of the restore and shows the answer. */
export function TryIt({ checkpointId, nodeId, nodeName, targetPath, choice, disabled }: TryItProps) {
  const [asked, setAsked] = useState<string | null>(null);
  const preview = useAction((requestId: string) => {
    setAsked(requestId);
    return hub.restores.preview.mutate({ requestId, checkpointId, nodeId, targetPath, choice });
  });
  const answer = useQuery({
    queryKey: ["restore-preview", asked],
    queryFn: () => hub.commands.list.query({ requestId: asked, limit: 1 }),
    enabled: asked !== null && preview.result !== undefined,
    refetchInterval: (query) => (query.state.data?.rows[0]?.endedAt == null ? LOOK_MS : false),
  });
  const row = answer.data?.rows[0];
  const isOver = row?.endedAt != null;
  return (
    <div className="flex flex-col gap-2 pt-3 sm:pl-36">
      <div>
        <Button
          size="small"
          disabled={disabled || preview.busy || (asked !== null && preview.fault === null && !isOver)}
          onClick={() => preview.run(newRequestId())}
        >
          Dry run
        </Button>
      </div>
      {preview.fault !== null && <FaultNote fault={preview.fault} />}
      {answer.isError && <FaultNote fault={faultOf(answer.error)} />}
      {asked !== null && preview.fault === null && !isOver && (
        <p className="text-soft">Asking {visibleText(nodeName)}.</p>
      )}
      {isOver && row.fault !== null && <FaultNote fault={row.fault} />}
      {isOver && row.fault === null && row.detail !== null && <Answer detail={row.detail} />}
    </div>
  );
}

type Detail = Record<string, string | number | boolean | null>;

const numberIn = (detail: Detail, name: string): number => {
  const value = detail[name];
  return typeof value === "number" ? value : 0;
};

const fileWords = (count: number): string => `${formatCount(count)} ${count === 1 ? "file" : "files"}`;

function tensorWords(detail: Detail): string {
  const count = numberIn(detail, "tensors");
  if (count === 0) return "";
  return `${formatCount(count)} ${count === 1 ? "tensor" : "tensors"} (${formatBytes(numberIn(detail, "tensorBytes"))}) in `;
}

function Answer({ detail }: { detail: Detail }) {
  const isFine = detail["verdict"] === "ok";
  const there = numberIn(detail, "thereFiles");
  const free = numberIn(detail, "freeBytes");
  return (
    <Banner
      tone={isFine ? "safe" : "risk"}
      title={isFine ? "It would be restored." : visibleText(String(detail["says"] ?? "It would be refused."))}
    >
      <span className="nums">
        {tensorWords(detail)}
        {detail["atMost"] === true && "at most "}
        {fileWords(numberIn(detail, "files"))}, {formatBytes(numberIn(detail, "bytes"))}
        {numberIn(detail, "tensors") > 0 && " to move"}
        {free > 0 && `; ${formatBytes(free)} free`}
        {there > 0
          ? `; ${fileWords(there)} (${formatBytes(numberIn(detail, "thereBytes"))}) there now, which stay until it is whole`
          : "; nothing is there now"}
        .
      </span>
    </Banner>
  );
}
