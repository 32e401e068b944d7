// Two checks for clang-tidy. `make tidy` builds and loads them if clang-tidy's headers are
// installed (libclang-dev).
//
// hipq-own-files-only finds nothing itself. It keeps the other checks out of the headers of
// PostgreSQL and C++. Without it, clang-tidy spends two thirds of its time on declarations whose
// findings it then drops. Releases from 21 on do the same by themselves.
//
// hipq-no-destructor-in-call finds objects with a destructor in a function that is passed to
// pg::call(): an ERROR there is a longjmp, which skips destructors.
#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <vector>

namespace {

using clang::Decl;
using clang::tidy::ClangTidyCheck;

// The prelude includes PostgreSQL's headers within extern "C", a block of hipq's own source:
// decides for each declaration in the block.
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

    // The translation unit is the first node of the traversal, which reads the scope only after
    // this.
    void check(const clang::ast_matchers::MatchFinder::MatchResult &result) override
    {
        std::vector<Decl *> own;
        add_own(*result.Nodes.getNodeAs<clang::TranslationUnitDecl>("all"), *result.SourceManager,
                own);
        result.Context->setTraversalScope(own);
    }
};

// Finds the objects in the body of one lambda. Skips lambdas within: a lambda that is passed to
// pg::enter() may have such objects.
class ObjectsWithDestructors : public clang::RecursiveASTVisitor<ObjectsWithDestructors> {
public:
    explicit ObjectsWithDestructors(clang::ASTContext &context) : context_(context) {}

    bool TraverseLambdaExpr(clang::LambdaExpr *) { return true; }
    bool VisitVarDecl(const clang::VarDecl *variable)
    {
        if (variable->hasLocalStorage() && variable->needsDestruction(context_))
            found.push_back(variable->getLocation());
        return true;
    }
    bool VisitCXXBindTemporaryExpr(const clang::CXXBindTemporaryExpr *temporary)
    {
        found.push_back(temporary->getBeginLoc());
        return true;
    }

    std::vector<clang::SourceLocation> found{};

private:
    clang::ASTContext &context_;
};

class NoDestructorInCall : public ClangTidyCheck {
public:
    using ClangTidyCheck::ClangTidyCheck;

    void registerMatchers(clang::ast_matchers::MatchFinder *finder) override
    {
        using namespace clang::ast_matchers;
        finder->addMatcher(
            callExpr(callee(functionDecl(hasAnyName("::hipq::pg::call", "::hipq::pg::raise"))),
                     hasAnyArgument(ignoringImplicit(lambdaExpr().bind("function")))),
            this);
    }

    void check(const clang::ast_matchers::MatchFinder::MatchResult &result) override
    {
        ObjectsWithDestructors objects(*result.Context);
        objects.TraverseStmt(
            result.Nodes.getNodeAs<clang::LambdaExpr>("function")->getCallOperator()->getBody());
        for (const clang::SourceLocation place : objects.found)
            diag(place, "an object with a destructor in a function for pg::call(): an ERROR would "
                        "skip the destructor");
    }
};

class HipqModule : public clang::tidy::ClangTidyModule {
public:
    void addCheckFactories(clang::tidy::ClangTidyCheckFactories &factories) override
    {
        factories.registerCheck<OwnFilesOnly>("hipq-own-files-only");
        factories.registerCheck<NoDestructorInCall>("hipq-no-destructor-in-call");
    }
};

const clang::tidy::ClangTidyModuleRegistry::Add<HipqModule> registered("hipq",
                                                                       "the checks of hipq");

}  // namespace
