// What a browser sees that is not signed in.

import { useState } from 'react'
import { access, signIn } from '../data/access.ts'
import { useValue } from '../data/store.ts'
import { Command } from '../parts/copy.tsx'
import { Logo } from '../parts/icon.tsx'

export function SignIn() {
  const now = useValue(access)
  const why = now.state === 'out' ? now.why : undefined
  const [code, setCode] = useState('')
  return (
    <main className="sign-in">
      <Logo />
      <h1>Sign in</h1>
      {why !== undefined && (
        <p className="sign-in-why" role="alert">
          {why}.
        </p>
      )}
      <p className="muted">
        Run this in the folder that Baton serves. It prints an address that signs this browser in, once, within a
        minute; a server that is running already prints it too.
      </p>
      <Command>baton up</Command>
      <form
        className="sign-in-form"
        onSubmit={(event) => {
          event.preventDefault()
          // The whole address may be pasted as well.
          window.location.hash = `code=${code.trim().replace(/^.*code=/, '')}`
          void signIn()
        }}
      >
        <label className="field">
          <span>Or paste the address or its code</span>
          <input
            className="input mono"
            value={code}
            onChange={(event) => setCode(event.target.value)}
            autoComplete="off"
            spellCheck={false}
          />
        </label>
        <button type="submit" className="button button-main" disabled={code.trim() === ''}>
          Sign in
        </button>
      </form>
    </main>
  )
}
