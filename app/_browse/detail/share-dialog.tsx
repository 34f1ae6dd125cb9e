"use client";
import { useState } from "react";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import { hub } from "../../_hub/queries/client.ts";
import { FaultNote } from "../../_hub/faults/fault-note.tsx";
import { useAction } from "../../_hub/actions/use-action.ts";
import { Button } from "../../_ui/controls/button.tsx";
import { CodeBlock } from "../../_ui/layout/code-block.tsx";
import { Dialog } from "../../_ui/layout/dialog.tsx";
import { Field } from "../../_forms/field.tsx";
import { Select } from "../../_ui/controls/select.tsx";
import { shortText } from "../../_ui/text/visible-text.ts";
import { fullTime } from "../../_ui/text/times.ts";
import { countOf } from "../jobs/job-words.ts";

const HOUR = 3_600_000;
const LIVES = [10 / 60, 1, 4, 12, 24].map((hours) => ({
  value: String(hours * HOUR),
  label: formatDuration(hours * HOUR),
}));

/** Creates presigned links to objects, valid for anybody until they expire. They are shown once. */
export function ShareDialog({
  profileId,
  keys,
  onClose,
}: {
  profileId: string;
  keys: readonly string[];
  onClose: () => void;
}) {
  const [lifetime, setLifetime] = useState(String(HOUR));
  const share = useAction(async () => {
    const links: { key: string; url: string; expiresAt: number }[] = [];
    for (const key of keys)
      links.push({ key, ...(await hub.bucket.share.mutate({ profileId, key, lifetimeMs: Number(lifetime) })) });
    return links;
  });
  const [first] = keys;
  const isOne = keys.length === 1;
  const what = isOne ? shortText(first ?? "", 80) : `these ${countOf(keys.length)}`;
  const verb = isOne ? "Make link" : `Make ${formatCount(keys.length)} links`;
  return (
    <Dialog
      open
      onClose={onClose}
      title={isOne ? "Share link" : "Share links"}
      intro={
        isOne
          ? `Anyone with the link can read ${what} without signing in. It cannot be revoked before it expires.`
          : `Anyone with the links can read ${what} without signing in. They cannot be revoked before they expire.`
      }
      footer={
        <>
          <span className="flex-1" />
          <Button onClick={onClose}>Close</Button>
          <Button look="main" disabled={share.busy} onClick={() => share.run(undefined)}>
            {share.busy ? "Making" : share.result === undefined ? verb : "Make another"}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <Field label="Good for" hint="A day at most. The audit records who made it, and for which object.">
          {(ids) => <Select {...ids} label="Good for" value={lifetime} choices={LIVES} onChange={setLifetime} />}
        </Field>
        {share.fault !== null && <FaultNote fault={share.fault} />}
        {share.result?.map(({ key, url, expiresAt }) => (
          <div key={key} className="flex flex-col gap-1">
            {!isOne && (
              <p className="font-mono text-12 [overflow-wrap:anywhere]" dir="ltr">
                {shortText(key, 200)}
              </p>
            )}
            <CodeBlock text={url} label={isOne ? "share link" : `share link of ${shortText(key, 80)}`} />
            <p className="text-12 text-soft">Good until {fullTime(expiresAt)}.</p>
          </div>
        ))}
      </div>
    </Dialog>
  );
}
