// Dialogs: the browser's own, which keeps the focus inside and closes on Escape.

import { type ReactNode, useEffect, useId, useRef } from 'react'
import { Icon } from './icon.tsx'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  /** Buttons at the end. */
  readonly actions?: ReactNode
  /** A wider one for forms and documents. */
  readonly wide?: boolean
}

export function Dialog({ title, onClose, children, actions, wide = false }: DialogProps) {
  const id = useId()
  return (
    <ModalFrame labelledBy={id} onClose={onClose} className={wide ? 'dialog dialog-wide' : 'dialog'}>
      <header className="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" className="icon-button" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div className="dialog-body">{children}</div>
      {actions !== undefined && <footer className="dialog-actions">{actions}</footer>}
    </ModalFrame>
  )
}

interface ModalFrameProps {
  readonly labelledBy?: string
  readonly label?: string
  readonly className: string
  readonly onClose: () => void
  readonly children: ReactNode
}

/** The dialog element alone; a click beside it closes it. */
export function ModalFrame({ labelledBy, label, className, onClose, children }: ModalFrameProps) {
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = ref.current!
    if (!dialog.open) {
      dialog.showModal()
      // Whoever opens a form wants to fill it in; the browser chooses what comes first, which is the button that closes it.
      dialog.querySelector<HTMLElement>('.dialog-body :is(input, select, textarea)')?.focus()
    }
    const closeBeside = (event: PointerEvent) => {
      if (event.target === dialog) onClose()
    }
    dialog.addEventListener('pointerdown', closeBeside)
    return () => dialog.removeEventListener('pointerdown', closeBeside)
  }, [onClose])
  return (
    <dialog
      ref={ref}
      className={className}
      aria-labelledby={labelledBy}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <div className="dialog-frame">{children}</div>
    </dialog>
  )
}

interface ConfirmProps {
  readonly title: string
  /** What will happen. */
  readonly children: ReactNode
  /** The button, named by what it does. */
  readonly action: string
  readonly onConfirm: () => void
  readonly onClose: () => void
}

/** Asks before something that cannot be taken back. */
export function Confirm({ title, children, action, onConfirm, onClose }: ConfirmProps) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            className="button button-bad"
            onClick={() => {
              onConfirm()
              onClose()
            }}
          >
            {action}
          </button>
        </>
      }
    >
      {children}
    </Dialog>
  )
}
