import './logo.css'

export function Logo() {
  return (
    <span className="logo">
      <svg
        width="22"
        height="22"
        viewBox="0 0 32 32"
        fill="none"
        strokeWidth="6"
        strokeLinecap="round"
        aria-hidden="true"
      >
        <path d="M7 25 25 7" stroke="var(--baton)" />
        <path d="M7 25l7-7" stroke="var(--live)" />
      </svg>
      Baton
    </span>
  )
}
