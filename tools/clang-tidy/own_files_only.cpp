// A check for clang-tidy that finds nothing itself: it keeps the others out of PostgreSQL's headers
// and those of C++.
//
// For each source clang-tidy goes through every declaration of every header with every check, and
// forgets what it finds in those that are not ours: two thirds of its time. With this it goes
// through the declarations of our own files only. Releases from 21 on do so by themselves. `make
// tidy` builds and loads it where clang-tidy's headers are (libclang-dev).
#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/AST/ASTContext.h>

#include <vector>

namespace {

using clang::Decl;
using clang::tidy::ClangTidyCheck;

// The prelude includes PostgreSQL's headers within extern "C", which is ours: what it holds counts
// by itself.
void add_own(const clang::DeclContext &context, const clang::SourceManager &sources,
             std::vector<Decl *> &own)
{
    for (Decl *declaration : context.decls()) {
        if (const auto *block = clang::dyn_cast<clang::LinkageSpecDecl>(declaration))
            add_own(*block, sources, own);
        else if (!sources.isInSystemHeader(declaration->getLocation()))
            own.push_back(declaration);
    }
}

class OwnFilesOnly : public ClangTidyCheck {
public:
    using ClangTidyCheck::ClangTidyCheck;

    void registerMatchers(clang::ast_matchers::MatchFinder *finder) override
    {
        finder->addMatcher(clang::ast_matchers::translationUnitDecl().bind("all"), this);
    }

    // The first node of the walk, which asks what is in scope when it has been here.
    void check(const clang::ast_matchers::MatchFinder::MatchResult &result) override
    {
        std::vector<Decl *> own;
        add_own(*result.Nodes.getNodeAs<clang::TranslationUnitDecl>("all"), *result.SourceManager,
                own);
        result.Context->setTraversalScope(own);
    }
};

class HipqModule : public clang::tidy::ClangTidyModule {
public:
    void addCheckFactories(clang::tidy::ClangTidyCheckFactories &factories) override
    {
        factories.registerCheck<OwnFilesOnly>("hipq-own-files-only");
    }
};

const clang::tidy::ClangTidyModuleRegistry::Add<HipqModule>
    registered("hipq", "keeps checks out of system headers");

}  // namespace
