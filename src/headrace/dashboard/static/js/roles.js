// What somebody may do, as the server says in /config; one that says nothing refuses when it is asked.

const ROLES = ["read", "operate", "submit"]; // each includes those before it

export const may = ({ role }, needed) => !ROLES.includes(role) || ROLES.indexOf(role) >= ROLES.indexOf(needed);

/** Why something is not offered. */
export const mayNot = ({ role }, what, needed) =>
  `${what}: with a token of the role ${needed}. This one has the role ${role}.`;
