"use client";
import { DEFAULT_PACKING, PACK_FROM_FILES } from "#protocol/checkpoint/packing.ts";
import { Field } from "../_forms/field.tsx";
import { TextArea } from "../_ui/controls/text-input.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { TuningFields } from "./tuning-fields.tsx";
import type { FieldErrors, ProfileForm } from "./profile-draft.ts";

interface AdvancedFieldsProps {
  form: ProfileForm;
  errors: FieldErrors;
  set: (part: Partial<ProfileForm>) => void;
}

/**
 * Fields that few profiles need: separate endpoints for hub, workers and browsers (the signature covers the host), trust,
 * packing of small files, and tuning.
 */
export function AdvancedFields({ form, errors, set }: AdvancedFieldsProps) {
  const wrong =
    errors.workerEndpoint !== undefined ||
    errors.browserEndpoint !== undefined ||
    errors.trustCa !== undefined ||
    errors.trustPin !== undefined ||
    errors.packBelow !== undefined ||
    errors.tunePart !== undefined ||
    errors.tuneConnections !== undefined;
  const isUsual =
    Number(form.packBelow) * 1024 === DEFAULT_PACKING.belowBytes && form.packZstd === DEFAULT_PACKING.zstd;
  const isTuned = form.tunePart !== "" || form.tuneConnections !== "" || form.provider === "storj";
  const used =
    form.workerEndpoint !== "" ||
    form.browserEndpoint !== "" ||
    form.trustCa !== "" ||
    form.trustPin !== "" ||
    isTuned ||
    !isUsual;
  return (
    <details className="mt-1 border-t border-line pt-2" open={wrong || used ? true : undefined}>
      <summary className="w-fit py-1 text-soft hover:text-ink">Advanced</summary>
      <TextField
        label="For workers"
        hint="The store's address as nodes reach it, when it differs from the endpoint above."
        path="workerEndpoint"
        kind="code"
        value={form.workerEndpoint}
        placeholder="the same as the endpoint"
        onChange={(value) => set({ workerEndpoint: value })}
      />
      <TextField
        label="For browsers"
        hint="The same for people's browsers."
        path="browserEndpoint"
        kind="code"
        value={form.browserEndpoint}
        placeholder="the same as the endpoint"
        onChange={(value) => set({ browserEndpoint: value })}
      />
      <Field
        label="Authority of the store"
        hint="PEM of the certificate authority, when it is your own. Hub and nodes trust it for this bucket; browsers need it in their system."
        path="trustCa"
      >
        {(ids) => (
          <TextArea
            {...ids}
            kind="code"
            rows={3}
            value={form.trustCa}
            onChange={(event) => set({ trustCa: event.target.value })}
          />
        )}
      </Field>
      <TextField
        label="Pinned key"
        hint="sha256/… of the store's public key; several separated by commas. Connections to a store with another key are refused."
        path="trustPin"
        kind="code"
        value={form.trustPin}
        placeholder="any key that an authority has signed"
        onChange={(value) => set({ trustPin: value })}
      />
      <Field label="Addressing" hint="Place of the bucket's name in a request: path or host.">
        {(ids) => (
          <Select
            {...ids}
            label="Addressing"
            value={form.addressing}
            choices={[
              { value: "path", label: "in the path", note: "host/bucket/key" },
              { value: "virtual-host", label: "in the host name", note: "bucket.host/key" },
            ]}
            onChange={(value) => set({ addressing: value === "path" ? "path" : "virtual-host" })}
          />
        )}
      </Field>
      <TextField
        label="Pack files below"
        hint={`KiB. Where a checkpoint has at least ${PACK_FROM_FILES} files this small, they lie together in a few objects. 0: each file is an object.`}
        path="packBelow"
        inputMode="numeric"
        value={form.packBelow}
        onChange={(value) => set({ packBelow: value })}
      />
      <Field label="Packed files are" hint="Weights and compressed files are never compressed.">
        {(ids) => (
          <Select
            {...ids}
            label="Packed files are"
            value={form.packZstd ? "zstd" : "none"}
            choices={[
              { value: "none", label: "stored as they are" },
              { value: "zstd", label: "compressed", note: "zstd, each file by itself" },
            ]}
            onChange={(value) => set({ packZstd: value === "zstd" })}
          />
        )}
      </Field>
      <TuningFields form={form} set={set} />
    </details>
  );
}
