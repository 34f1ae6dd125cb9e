"use client";
import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { useRef, type ReactNode } from "react";
import { IconButton } from "../controls/button.tsx";
import { classNames } from "../rendering/class-names.ts";
import { useReturnFocus } from "./return-focus.ts";

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  /** One sentence under the title. */
  intro?: ReactNode;
  /** Content of the bottom row. */
  footer?: ReactNode;
  width?: "narrow" | "usual" | "wide";
  children: ReactNode;
}

const WIDTH = { narrow: "sm:max-w-[440px]", usual: "sm:max-w-[660px]", wide: "sm:max-w-[780px]" };

const FOCUSABLE = "input:not([disabled]), button:not([disabled]), select, textarea, a[href]";

/**
 * Shows a modal dialog. Traps the focus, locks scrolling, and closes on Escape or a click on the backdrop. The focus
 * starts at the first field, never at Close, so that Enter does not discard the dialog. Afterwards it returns to the
 * opener (`useReturnFocus`).
 */
export function Dialog({ open, onClose, title, intro, footer, width = "usual", children }: DialogProps) {
  const body = useRef<HTMLDivElement>(null);
  const returnFocus = useReturnFocus();
  return (
    <Base.Root open={open} onOpenChange={(next) => (next ? undefined : onClose())}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-veil transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0" />
        <Base.Viewport className="fixed inset-0 z-50 flex items-end justify-center overflow-hidden sm:items-center sm:p-6">
          <Base.Popup
            finalFocus={returnFocus}
            initialFocus={() => body.current?.querySelector<HTMLElement>(FOCUSABLE) ?? body.current}
            className={classNames(
              "flex max-h-full w-full flex-col overflow-hidden rounded-t-3 border border-line bg-panel text-ink shadow-lift outline-none transition-[opacity,translate] duration-150 max-sm:max-h-[92dvh] sm:rounded-3 data-ending-style:opacity-0 data-starting-style:translate-y-2 data-starting-style:opacity-0",
              WIDTH[width],
            )}
          >
            <header className="flex items-start gap-3 px-5 pt-4 pb-2">
              <div className="min-w-0 flex-1">
                <Base.Title className="text-15 font-semibold">{title}</Base.Title>
                {intro !== undefined && <Base.Description className="text-soft">{intro}</Base.Description>}
              </div>
              <Base.Close render={<IconButton label="Close" className="-mt-1 -mr-2" />}>
                <X size={16} />
              </Base.Close>
            </header>
            <div
              ref={body}
              tabIndex={-1}
              className="min-h-0 flex-1 overflow-y-auto overscroll-contain px-5 pt-1 pb-3 outline-none"
            >
              {children}
            </div>
            {footer !== undefined && (
              <footer className="flex flex-wrap items-center gap-2 border-t border-line px-5 py-3">{footer}</footer>
            )}
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}
