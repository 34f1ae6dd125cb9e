"use client";
import { useState } from "react";
import { formatDuration } from "#protocol/units.ts";
import { hub } from "../_hub/client.ts";
import { FaultNote } from "../_hub/fault-note.tsx";
import { useAction } from "../_hub/use-action.ts";
import { Button } from "../_ui/button.tsx";
import { CodeBlock } from "../_ui/code-block.tsx";
import { Dialog } from "../_ui/dialog.tsx";
import { Field } from "../_ui/field.tsx";
import { Select } from "../_ui/select.tsx";
import { shortText } from "../_ui/visible-text.ts";
import { fullTime } from "../_ui/times.ts";

const HOUR = 3_600_000;
const LIVES = [10 / 60, 1, 4, 12, 24].map((hours) => ({
  value: String(hours * HOUR),
  label: formatDuration(hours * HOUR),
}));

/** A link to one object, for whoever gets it, until it is over. Shown once. */
export function ShareDialog({
  profileId,
  objectKey,
  onClose,
}: {
  profileId: string;
  objectKey: string;
  onClose: () => void;
}) {
  const [lifetime, setLifetime] = useState(String(HOUR));
  const share = useAction(() => hub.bucket.share.mutate({ profileId, key: objectKey, lifetimeMs: Number(lifetime) }));
  return (
    <Dialog
      open
      onClose={onClose}
      title="Share link"
      intro={`Whoever has the link reads ${shortText(objectKey, 80)} without signing in. It cannot be taken back before it ends.`}
      footer={
        <>
          <span className="flex-1" />
          <Button onClick={onClose}>Close</Button>
          <Button look="main" disabled={share.busy} onClick={() => share.run(undefined)}>
            {share.busy ? "Making" : share.result === undefined ? "Make link" : "Make another"}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <Field label="Good for" hint="A day at most. Who made it, and for what, is on record.">
          {(ids) => <Select {...ids} label="Good for" value={lifetime} choices={LIVES} onChange={setLifetime} />}
        </Field>
        {share.fault !== null && <FaultNote fault={share.fault} />}
        {share.result !== undefined && (
          <div className="flex flex-col gap-1">
            <CodeBlock text={share.result.url} label="share link" />
            <p className="text-12 text-soft">Good until {fullTime(share.result.expiresAt)}.</p>
          </div>
        )}
      </div>
    </Dialog>
  );
}
