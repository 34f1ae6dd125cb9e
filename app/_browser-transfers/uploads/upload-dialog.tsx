"use client";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { whyKeyRefused } from "#protocol/buckets/browser-transfers.ts";
import { formatCount } from "#protocol/base/units.ts";
import { Form, FormFault } from "../../_forms/form.tsx";
import { faultOf } from "../../_hub/faults/fault-of.ts";
import { usePerson } from "../../_hub/session/person.tsx";
import { profilesQuery } from "../../_hub/queries/queries.ts";
import { Button } from "../../_ui/controls/button.tsx";
import { Dialog } from "../../_ui/layout/dialog.tsx";
import { Field } from "../../_forms/field.tsx";
import { TextField } from "../../_forms/text-field.tsx";
import { Select } from "../../_ui/controls/select.tsx";
import { say } from "../../_ui/feedback/toast.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";
import type { Chosen } from "../file-access.ts";
import { FileChoice } from "./file-choice.tsx";
import { openUploadManager } from "./use-upload-manager.ts";
import { formatBytes } from "../../_ui/text/sizes.ts";

interface UploadDialogProps {
  profileId: string | null;
  prefix: string;
  onClose: () => void;
}

const NOTHING: Chosen = { files: [], roots: [] };
const bytesOf = ({ files }: Chosen): number => files.reduce((sum, { file }) => sum + file.size, 0);

/** Converts typed text into a prefix: no leading slash, one trailing slash. */
const cleaned = (typed: string): string => {
  const bare = typed.trim().replace(/^\/+|\/+$/g, "");
  return bare === "" ? "" : `${bare}/`;
};

const whyNotPrefix = (prefix: string): string | undefined => {
  const why = prefix === "" ? null : whyKeyRefused(prefix.slice(0, -1));
  return why === null ? undefined : `That cannot be a folder: ${why}.`;
};

/** Asks for files, folders and the target; this page then uploads them. */
export function UploadDialog({ profileId, prefix, onClose }: UploadDialogProps) {
  const person = usePerson();
  const profiles = useQuery(profilesQuery());
  const [chosenProfile, setChosenProfile] = useState(profileId);
  const [typed, setTyped] = useState(prefix);
  const [chosen, setChosen] = useState<Chosen>(NOTHING);
  const [isReading, setReading] = useState(false);
  const [replaces, setReplaces] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const all = profiles.data ?? [];
  const view = all.find(({ id }) => id === chosenProfile) ?? (all.length === 1 ? all[0] : undefined);
  const to = cleaned(typed);

  const take = (reading: Promise<Chosen>): void => {
    setReading(true);
    setError(null);
    reading
      .then(
        (found) =>
          setChosen((before) => ({
            files: [...before.files, ...found.files],
            roots: [...before.roots, ...found.roots],
          })),
        setError,
      )
      .finally(() => setReading(false));
  };
  const send = async (): Promise<void> => {
    if (view === undefined || person === null || chosen.files.length === 0 || isReading) return;
    const manager = await openUploadManager(person.id);
    await manager.add(
      {
        personId: person.id,
        profileId: view.id,
        profileName: view.profile.name,
        bucket: view.profile.bucket,
        prefix: to,
        ifThere: replaces ? "replace" : "keep",
      },
      chosen,
    );
    say("moving", `Uploading to ${view.profile.name}. It is shown under Transfers; keep a page of Tidemark open.`);
    onClose();
  };
  const count = chosen.files.length;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Upload to a bucket"
      intro="The files go from this browser straight to the bucket, not through the hub."
      footer={
        <>
          <span className="nums min-w-0 flex-1 text-soft" aria-live="polite">
            {isReading
              ? "Reading what was chosen"
              : count === 0
                ? "Nothing chosen yet"
                : `${formatCount(count)} ${count === 1 ? "file" : "files"}, ${formatBytes(bytesOf(chosen))}`}
          </span>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form="upload" look="main" disabled={count === 0 || view === undefined || isReading}>
            Upload
          </Button>
        </>
      }
    >
      <Form
        id="upload"
        label="Upload"
        className="flex flex-col gap-1"
        errors={{ prefix: whyNotPrefix(to) }}
        actions={[{ fault: error === null ? null : faultOf(error), reset: () => setError(null) }]}
        onSubmit={() => void send().catch(setError)}
      >
        <FormFault />
        <Field label="Bucket">
          {(ids) => (
            <Select
              {...ids}
              label="Bucket"
              value={view?.id ?? null}
              placeholder="Choose a bucket"
              choices={all.map((one) => ({
                value: one.id,
                label: visibleText(one.profile.name),
                note: visibleText(`s3://${one.profile.bucket}/`),
              }))}
              onChange={setChosenProfile}
            />
          )}
        </Field>
        <TextField
          label="Folder"
          path="prefix"
          hint={`They will be stored below ${visibleText(`s3://${view?.profile.bucket ?? "bucket"}/${to}`)}`}
          kind="code"
          value={typed}
          placeholder="datasets/2026/"
          onChange={setTyped}
        />
        <FileChoice onTake={take} />
        <label className="flex items-center gap-2 pt-2">
          <input type="checkbox" checked={replaces} onChange={(event) => setReplaces(event.target.checked)} />
          Replace objects that are there already
        </label>
        <p className="text-12 text-faint">
          Otherwise existing objects stay: identical ones are skipped, conflicts are reported.
        </p>
      </Form>
    </Dialog>
  );
}
