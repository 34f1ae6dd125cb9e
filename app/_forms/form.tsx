"use client";
import { createContext, useContext, useEffect, useRef, useState, type ReactNode } from "react";
import type { FaultData } from "#protocol/faults/fault.ts";
import { FormFieldsContext, type FormFields } from "../_ui/controls/form-fields.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { fieldWordsOf, inWords } from "./field-words.ts";

/**
 * The form of all pages. Each error is shown once, at its field, until that field changes. A fault of the hub that names no
 * field is shown by `FormFault` until the next change or try. Submitting an invalid form focuses the first invalid field.
 */

/** A call of the form; see `useAction`. */
interface FormAction {
  fault: FaultData | null;
  reset: () => void;
}

interface FormProps {
  label: string;
  id?: string;
  className?: string;
  /** Validation errors of the current input, by the paths of the fields. */
  errors?: Readonly<Record<string, string | undefined>>;
  actions: readonly FormAction[];
  /** Called when there are no errors. */
  onSubmit: () => void;
  children: ReactNode | ((form: Asked) => ReactNode);
}

interface Asked {
  /** Validates as submitting does, and calls `run` when there are no errors. */
  ask: (run: () => void) => void;
  /** Errors that are shown. */
  shown: Readonly<Record<string, string>>;
}

const NoteContext = createContext<FaultData | null>(null);

export function Form({ label, id, className, errors = {}, actions, onSubmit, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  /** Paths by the ids of their controls. */
  const [paths, setPaths] = useState<ReadonlyMap<string, string>>(new Map());
  // In state, so that its identity is stable and fields register only once.
  const [register] = useState(() => (control: string, path: string) => {
    setPaths((old) => new Map(old).set(control, path));
    return () => setPaths((old) => new Map([...old].filter(([one]) => one !== control)));
  });
  /** Paths whose errors are shown: those with an error at the last submission and not changed since. */
  const [asked, setAsked] = useState<ReadonlySet<string>>(new Set());
  const [refused, setRefused] = useState(0);
  useEffect(() => {
    if (refused > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [refused]);

  const known = new Set(paths.values());
  const faults = actions.flatMap(({ fault }) => fault ?? []);
  /** Returns the path of the field that a fault is about: the hub's full path, or its last name. Null when no field matches. */
  const pathOf = ({ code, subject = "" }: FaultData): string | null =>
    code === "BAD_INPUT" ? ([subject, subject.split(".").at(-1) ?? ""].find((path) => known.has(path)) ?? null) : null;
  const shown = Object.fromEntries(
    Object.entries(errors).flatMap(([path, error]) => (error !== undefined && asked.has(path) ? [[path, error]] : [])),
  );
  const note = faults.find((fault) => pathOf(fault) === null) ?? null;
  const fields: FormFields = {
    errorAt: (path) => {
      if (shown[path] !== undefined) return shown[path];
      const fault = faults.find((one) => pathOf(one) === path);
      return fault === undefined ? undefined : fieldWordsOf(fault);
    },
    register,
    changed: (control) => {
      const path = paths.get(control);
      if (path !== undefined) setAsked((old) => new Set([...old].filter((one) => one !== path)));
      for (const { fault, reset } of actions) {
        const of = fault === null ? path : pathOf(fault);
        if (fault !== null && (of === null || of === path)) reset();
      }
    },
  };
  const ask = (run: () => void): void => {
    for (const { fault, reset } of actions) if (fault !== null) reset();
    const wrong = Object.keys(errors).filter((path) => errors[path] !== undefined);
    setAsked(new Set(wrong));
    if (wrong.length === 0) run();
    else setRefused((count) => count + 1);
  };
  return (
    <FormFieldsContext value={fields}>
      <NoteContext value={note}>
        <form
          ref={form}
          {...(id === undefined ? {} : { id })}
          aria-label={label}
          className={className}
          noValidate
          onChange={({ target }) => fields.changed(target instanceof HTMLElement ? target.id : "")}
          onSubmit={(event) => {
            event.preventDefault();
            ask(onSubmit);
          }}
        >
          {typeof children === "function" ? children({ ask, shown }) : children}
        </form>
      </NoteContext>
    </FormFieldsContext>
  );
}

/** Shows the fault of the hub that belongs to no field. */
export function FormFault() {
  const fault = useContext(NoteContext);
  return (
    <div aria-live="polite" className="py-2 empty:hidden">
      {fault !== null && <FaultNote fault={inWords(fault)} />}
    </div>
  );
}
