"use client";
import { X } from "lucide-react";
import { useState } from "react";
import { Form } from "../_forms/form.tsx";
import { InlineField } from "../_forms/inline-field.tsx";
import { useAddress, useAddressWords } from "../_hub/address/address.ts";
import { changeKeptText, useKeptText } from "../_hub/preferences/kept-text.ts";
import { Button, IconButton } from "../_ui/controls/button.tsx";
import { classNames } from "../_ui/rendering/class-names.ts";
import { TextInput } from "../_ui/controls/text-input.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { nameWrong, queryOf, readViews, withoutView, withView } from "./saved-views.ts";

const NAME = "tidemark-node-views";

/** Lists named filters as links, with a field that names the current filter. */
export function SavedFilters() {
  const [text, keep] = useKeptText(NAME);
  const [name, setName] = useState("");
  const { params } = useAddress();
  const goTo = useAddressWords();
  const views = readViews(text);
  const now = queryOf(params);
  return (
    <>
      {views.length === 0 ? (
        <p className="pb-2 text-soft">
          {now === "" ? "Filter, search or sort the list to save the view here under a name." : "None yet."}
        </p>
      ) : (
        <ul className="max-h-72 overflow-y-auto pb-2">
          {views.map((view) => (
            <li key={view.name} className="flex items-center gap-1">
              <button
                type="button"
                aria-current={view.query === now ? "true" : undefined}
                onClick={() => goTo(Object.fromEntries(new URLSearchParams(view.query)))}
                className={classNames(
                  "min-h-[28px] min-w-0 flex-1 truncate rounded-1 px-2 text-left hover:bg-sunk",
                  view.query === now && "font-mid",
                )}
              >
                {visibleText(view.name)}
              </button>
              <IconButton
                size="small"
                label={`Forget ${visibleText(view.name)}`}
                onClick={() => {
                  keep(withoutView(views, view.name));
                  say("quiet", `${visibleText(view.name)} was forgotten.`, () =>
                    changeKeptText(NAME, (kept) => withView(readViews(kept), view)),
                  );
                }}
              >
                <X size={14} aria-hidden />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      {now !== "" && (
        <Form
          label="Save this filter"
          className="flex items-start gap-2 border-t border-line pt-2"
          errors={{ name: nameWrong(name) ?? undefined }}
          actions={[]}
          onSubmit={() => {
            keep(withView(views, { name, query: now }));
            setName("");
          }}
        >
          <InlineField label="Name of this filter" path="name" required className="min-w-0 flex-1">
            {(attributes) => (
              <TextInput
                {...attributes}
                placeholder="A name for it"
                value={name}
                maxLength={60}
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </InlineField>
          <Button type="submit">Save</Button>
        </Form>
      )}
      <p className="pt-2 text-12 text-faint">Saved in this browser. Share one by the address of the page.</p>
    </>
  );
}
