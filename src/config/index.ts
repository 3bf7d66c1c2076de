// What a person configures: `config.ts` reads baton.config.json, `workspace.ts` finds the folder that everything is stored in,
// `model.ts` and `models.ts` know the models. Each room declares its own section; `validate.ts` turns a wrong value into a sentence.

export { loadConfig, transcriptsSection } from './config.ts'
export { checked, checkedInput } from './validate.ts'
export { configFile, findProject, stateFolder } from './project.ts'
export { aiSdkFor, type ChosenModel, type ModelChoice, chosenName, loadModel } from './model.ts'
export { configuredModels, type Model, type Models, priceOf, tablesOf, windowOf } from './models.ts'
export { findWorkspace, isNamed } from './workspace.ts'
export { registeredWorkspaces, registerWorkspace, registryFolder } from './registry.ts'
export { demandTrust, distrustProject, trustedProjects, trustedWorkspace, trustProject, untrusted } from './trust.ts'
