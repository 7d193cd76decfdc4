"""The public names. `__init__.py` reads them here, and loads each when it is first used."""

from . import environments as environments, live as live
from ._core.errors import (
    DataError as DataError,
    DriftpeakError as DriftpeakError,
    DriftpeakWarning as DriftpeakWarning,
    InfeasibleError as InfeasibleError,
    NoObservationsError as NoObservationsError,
    NotConvergedError as NotConvergedError,
    StorageCorruptError as StorageCorruptError,
    StorageError as StorageError,
    StorageLockedError as StorageLockedError,
    StudyMismatchError as StudyMismatchError,
    StudyNotFoundError as StudyNotFoundError,
    UnknownSuggestionError as UnknownSuggestionError,
    UnsupportedError as UnsupportedError,
)
from .environments import (
    AbruptSwitches as AbruptSwitches,
    AgainstQueries as AgainstQueries,
    ContextualEnvironment as ContextualEnvironment,
    InjectedDrift as InjectedDrift,
    MarkovDrift as MarkovDrift,
    MovingBump as MovingBump,
    MovingCoefficients as MovingCoefficients,
    MovingCosine as MovingCosine,
    SignSwitches as SignSwitches,
    SlowChange as SlowChange,
)
from .fleet import Fleet as Fleet
from .gp import features as features, forgetting as forgetting, kernels as kernels
from .gp.context_points import Contexts as Contexts
from .gp.domains import Arms as Arms, Grid as Grid, unit_sphere as unit_sphere
from .gp.kernels import (
    SE as SE,
    Linear as Linear,
    Matern as Matern,
    Periodic as Periodic,
    RationalQuadratic as RationalQuadratic,
)
from .gp.means import PeriodicMean as PeriodicMean
from .gp.optimal_design import balance as balance, optimal_design as optimal_design
from .gp.priors import Prior as Prior
from .inference.beliefs import Posterior as Posterior, make_belief as make_belief
from .inference.fitting import (
    Observations as Observations,
    cross_validate as cross_validate,
    fit as fit,
    log_marginal_likelihood as log_marginal_likelihood,
)
from .inference.information import (
    RealisedGain as RealisedGain,
    TabulatedGain as TabulatedGain,
    fractional_gain as fractional_gain,
    greedy_gain as greedy_gain,
    information_gain as information_gain,
)
from .live import (
    Boolean as Boolean,
    Box as Box,
    ByContext as ByContext,
    Categorical as Categorical,
    DriftingGP as DriftingGP,
    Float as Float,
    Integer as Integer,
    Limit as Limit,
    Optimizer as Optimizer,
    PopulationBasedBandit as PopulationBasedBandit,
    Schedule as Schedule,
    Suggestion as Suggestion,
    WeightedSum as WeightedSum,
    optimize as optimize,
)
from .offline.history import Learned as Learned, fit_history as fit_history
from .policies import (
    ABO as ABO,
    ADAOPKB as ADAOPKB,
    CUSUMUCB as CUSUMUCB,
    DUCB as DUCB,
    ETGPUCB as ETGPUCB,
    GLRKLUCB as GLRKLUCB,
    GPUCB as GPUCB,
    IGPUCB as IGPUCB,
    MUCB as MUCB,
    OPKB as OPKB,
    PE as PE,
    RGPUCB as RGPUCB,
    ROPKB as ROPKB,
    RPERP as RPERP,
    SWGPUCB as SWGPUCB,
    SWUCB as SWUCB,
    TVGPUCB as TVGPUCB,
    UCB1 as UCB1,
    UIGPUCB as UIGPUCB,
    WGPUCB as WGPUCB,
    ActingPolicy as ActingPolicy,
    AdaptiveRPERP as AdaptiveRPERP,
    AdaptiveSparQ as AdaptiveSparQ,
    Auto as Auto,
    BeliefPolicy as BeliefPolicy,
    BestFixedArm as BestFixedArm,
    Clairvoyant as Clairvoyant,
    DiscountedTS as DiscountedTS,
    Doubling as Doubling,
    EpsilonGreedy as EpsilonGreedy,
    Exp3S as Exp3S,
    InContext as InContext,
    LinUCB as LinUCB,
    Player as Player,
    Policy as Policy,
    Prediction as Prediction,
    RandomStart as RandomStart,
    Reading as Reading,
    RExp3 as RExp3,
    SparQ as SparQ,
    Timetable as Timetable,
    Transformed as Transformed,
    UniformRandom as UniformRandom,
    VirtualGPUCB as VirtualGPUCB,
    WSparQ as WSparQ,
    widths as widths,
)
from .service.client import Client as Client
from .simulation import (
    read_runs as read_runs,
    simulate as simulate,
    table as table,
    to_dataframe as to_dataframe,
    true_functions as true_functions,
)

__version__: str
